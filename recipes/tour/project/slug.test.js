import assert from "node:assert/strict"
import test from "node:test"
import { slug } from "./slug.js"

test("joins words with one hyphen", () => {
  assert.equal(slug("Hello,  World"), "hello-world")
})

test("leaves no hyphen at the ends", () => {
  assert.equal(slug("What now?"), "what-now")
})
