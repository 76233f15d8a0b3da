import { expect, test } from "vitest"
import { createScreen } from "../../../plugins/render/screen.ts"
import { createTerminal } from "./screen.ts"

test("draw() replaces what it drew, print() writes above it", () => {
  const { screen, lines } = createTerminal()
  screen.draw(["one", "two"])
  screen.print("done")
  screen.draw(["three"])
  expect(lines()).toEqual(["done", "three", ""])
  screen.draw([])
  expect(lines()).toEqual(["done", ""])
})

test("draw() cuts lines to the width, so that none wraps", () => {
  const { screen, lines } = createTerminal({ columns: 20 })
  screen.draw(["x".repeat(30)])
  expect(lines()[0]).toBe(`${"x".repeat(18)}…`)
})

test("draw() keeps within the height of the terminal", () => {
  const { screen, lines } = createTerminal()
  screen.draw(Array.from({ length: 100 }, (_, i) => `line ${i}`))
  expect(lines()[0]).toBe("line 78")
})

test("hold() keeps others from printing until it is released", () => {
  const { screen, lines } = createTerminal()
  screen.draw(["running"])
  const hold = screen.hold()
  screen.print("from another")
  screen.draw(["still running"])
  hold.print("question")
  hold.echo("> y")
  expect(lines()).toEqual(["question", "> y"])
  hold.release()
  expect(lines()).toEqual(["question", "> y", "from another", "still running", ""])
})

test("createScreen() writes no control code where the stream is no terminal", () => {
  const { screen, written } = createTerminal({ isTTY: false })
  screen.draw(["one"])
  screen.print("two")
  expect(written()).toBe("two\n")
})

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { TERM: "dumb" }, false],
  [false, { FORCE_COLOR: "1" }, true],
  [true, { FORCE_COLOR: "0" }, false],
  [true, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
])("createScreen() with isTTY %s and %j colours: %s", (isTTY, env, colored) => {
  const { colors } = createScreen({ isTTY, write: () => {} }, { env })
  expect(colors.red("x") !== "x").toBe(colored)
})
