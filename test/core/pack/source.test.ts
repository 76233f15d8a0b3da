import { describe, expect, it } from "vitest"
import { parseSource } from "../../../core/pack/source.ts"
import { folder } from "../../harness.ts"

const base = "/project/deep"
const parse = (text: string, more = {}) =>
  parseSource(text, { base, home: "/home/me", writtenFrom: "/project", ...more })

describe("parseSource()", () => {
  it.each<[string, object]>([
    ["left-pad", { kind: "npm", name: "left-pad", written: "npm:left-pad" }],
    ["@team/one@^1.2", { kind: "npm", name: "@team/one", range: "^1.2", written: "npm:@team/one@^1.2" }],
    ["npm:one@latest", { kind: "npm", name: "one", range: "latest", written: "npm:one@latest" }],
    [
      "github:owner/repo#v1",
      { kind: "git", urls: ["https://github.com/owner/repo.git", "ssh://git@github.com/owner/repo.git"], ref: "v1" },
    ],
    [
      "gitlab:group/sub/repo",
      { kind: "git", urls: ["https://gitlab.com/group/sub/repo.git", "ssh://git@gitlab.com/group/sub/repo.git"] },
    ],
    ["github:owner/repo.git#semver:^2::path:packs/a", { kind: "git", ref: "semver:^2", path: "packs/a" }],
    ["git+ssh://git@host/a/b.git#main", { kind: "git", urls: ["ssh://git@host/a/b.git"], ref: "main" }],
    ["https://example.com/a-1.0.0.tgz", { kind: "remote", url: "https://example.com/a-1.0.0.tgz" }],
    ["./a", { kind: "folder", place: "/project/deep/a", written: "./deep/a" }],
    ["../../out", { kind: "folder", place: "/out", written: "../out" }],
    ["a.tgz", { kind: "archive", place: "/project/deep/a.tgz", written: "./deep/a.tgz" }],
    ["file:a", { kind: "folder", place: "/project/deep/a" }],
    ["~/packs/a", { kind: "folder", place: "/home/me/packs/a" }],
  ])("takes %s", (text, expected) => {
    expect(parse(text)).toMatchObject(expected)
  })

  it("writes absolute paths where nothing is said to be relative to", () => {
    expect(parse("./a", { writtenFrom: undefined }).written).toBe("/project/deep/a")
    const here = folder({ "a/b": "" })
    expect(parseSource(".", { base: here, home: undefined, writtenFrom: here }).written).toBe(".")
  })

  it.each<[string, RegExp]>([
    ["owner/repo", /github:owner\/repo/],
    ["github:repo", /owner\/repo/],
    ["github:../../x", /owner\/repo/],
    ["one@git+https://x", /RANGE/],
    ["svn+https://x/y", /npm:, github:/],
    ["https://example.com/repo", /git\+/],
    ["git+https://", /address/],
    ["git+https://h/x#main::path:../../up", /behind #/],
    ["git+https://h/x#--upload-pack=touch", /behind #/],
    ["git+ext::sh -c touch", /git\+https:/],
    ["", /name of a package/],
  ])("refuses %j, and says what to write", (text, mend) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: "PACK_SOURCE_INVALID", mend: expect.stringMatching(mend) }),
    )
  })

  it.each(["http://h/a.tgz", "git://h/a", "git+http://h/a", "https://me:secret@h/a.tgz", "git+https://token@h/a"])(
    "refuses %s, where nobody can tell what comes or a secret would be written down",
    (text) => {
      expect(() => parse(text)).toThrow(
        expect.objectContaining({ code: "PACK_SOURCE_UNSAFE", message: expect.not.stringMatching(/secret|token/) }),
      )
    },
  )

  it("refuses a file that is neither a folder nor an archive", () => {
    const here = folder({ "a.txt": "" })
    expect(() => parseSource("./a.txt", { base: here, home: undefined })).toThrow(
      expect.objectContaining({ code: "PACK_SOURCE_INVALID" }),
    )
  })
})
