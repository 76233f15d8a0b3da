import { execFileSync, spawnSync } from "node:child_process"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { joinCommand, quote } from "../../../core/recipe/shell.ts"

const command = (parts: TemplateStringsArray, ...values: unknown[]) => joinCommand(parts, values)
/** The words that bash makes of a command's arguments. */
function words(text: string): string[] {
  const out = execFileSync("bash", ["-c", `show() { printf '%s\\0' "$@"; }; ${text}`], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  })
  return out.split("\0").slice(0, -1)
}

describe("quote()", () => {
  it("makes one word that a shell reads as the same text", () => {
    for (const text of ["a b", "", "it's", "$(id)", "`id`", "a\nb", "-rf", "\\", "*", "é", "!!", "~"]) {
      expect(words(`show ${quote(text)}`)).toEqual([text])
    }
  })

  it("takes numbers and booleans, and refuses what has no text of its own", () => {
    expect([quote(2), quote(true), quote(3n)]).toEqual(["'2'", "'true'", "'3'"])
    for (const value of [null, undefined, {}, () => 1, Symbol("s"), "a\0b"]) {
      expect(() => quote(value)).toThrow(expect.objectContaining({ code: "SH_VALUE_INVALID" }))
    }
  })
})

describe("joinCommand()", () => {
  it("keeps a value one word, also in the middle of one", () => {
    expect(words(command`show --file=${"a b.txt"} ${"$HOME"}...HEAD`)).toEqual(["--file=a b.txt", "$HOME...HEAD"])
  })

  it("makes one word of each item of a list, and none of an empty one", () => {
    expect(words(command`show ${["a b", "c"]} end`)).toEqual(["a b", "c", "end"])
    expect(words(command`show ${[]} end`)).toEqual(["end"])
    expect(() => command`show ${[["a"]]}`).toThrow(expect.objectContaining({ code: "SH_VALUE_INVALID" }))
  })

  it.each<[string, () => string]>([
    ["double quotes", () => command`echo "${"x"}"`],
    ["double quotes", () => command`echo "a $(echo b) ${"x"}"`],
    ["double quotes", () => command`echo "$( (a) " ${"x"} " )"`],
    ["single quotes", () => command`echo '${"x"}'`],
    ["$'…'", () => command`echo $'a\\'${"x"}'`],
    ["backticks", () => joinCommand(["echo `cat ", "`"], ["x"])],
    ["${…}", () => joinCommand(["echo ${y:-", "}"], ["x"])],
    ["arithmetic", () => joinCommand(["echo $((1 + ", "))"], ["x"])],
    ["arithmetic", () => joinCommand(["(( ", " ))"], ["x"])],
    ["arithmetic", () => joinCommand(["echo $(( (1+(2)) + ", "))"], ["x"])],
    ["comment", () => command`ls # ${"x"}`],
    ["comment", () => command`ls ${[]}#a ${"x"}`],
    ["here-document", () => command`cat <<EOF\n${"x"}\nEOF`],
    ["too involved", () => joinCommand(["echo ${y:-'}'}' ", "'"], ["x"])],
    ["too involved", () => joinCommand(['"$(case a in a) echo " ', ' " ;; esac)"'], ["x"])],
    ["too involved", () => joinCommand(["echo $[", "]"], ["x"])],
    ["backslash", () => joinCommand(["echo a\\", ""], ["x"])],
    ['after "$"', () => joinCommand(["echo $", ""], ["x"])],
  ])("refuses a value in %s", (_place, make) => {
    expect(make).toThrow(expect.objectContaining({ code: "SH_VALUE_MISPLACED" }))
  })

  it.each<[string, string]>([
    ["after quotes that were closed", command`show "a" 'b' $'c' ${"x y"}`],
    ["in a substitution", command`show $(printf %s ${"xy"})`],
    ["in a quoted substitution", command`show "$(printf %s ${"x y"})"`],
    ["after a comment's line", command`true # it's\nshow ${"x y"}`],
    ["after a here-string", command`cat <<< a >&2 ; show ${"x y"}`],
    ["after arithmetic", joinCommand(["show $(( (1) + 2 )) ", ""], ["x y"])],
    ["after an escaped backslash", joinCommand(["show \\\\", ""], ["x y"])],
    ["in a subshell", command`(true; (show ${"x y"}))`],
    ["after a case", joinCommand(["case a in a) show ", " ;; esac"], ["x y"])],
  ])("takes a value %s", (_place, text) => {
    expect(words(text).at(-1)).toMatch(/x ?y$/)
  })

  it("never lets a value become syntax, wherever it was taken", () => {
    const attack = `';echo HIT >&2;'"$(echo HIT >&2)"\n$(echo HIT >&2)\`echo HIT >&2\`;echo HIT >&2\n}))]"`
    let taken = 0
    fc.assert(
      fc.property(script, (text) => {
        const parts = text.split(HOLE)
        const values = parts.slice(1).map(() => attack)
        let joined: string
        try {
          joined = joinCommand(parts, values)
        } catch {
          return
        }
        taken++
        const { stderr } = spawnSync("bash", ["-c", joined], { encoding: "utf8", timeout: 5000 })
        expect(stderr.split("\n")).not.toContain("HIT")
      }),
      { numRuns: 600 },
    )
    expect(taken).toBeGreaterThan(5)
  })
})

/** Where a value goes. */
const HOLE = "\u0001"

/** Commands of nested shell syntax, whole by themselves, with holes anywhere. */
const { script } = fc.letrec<{ word: string; command: string; script: string }>((tie) => {
  const join = (...parts: (string | fc.Arbitrary<string>)[]) =>
    fc.tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part))).map((list) => list.join(""))
  const word = tie("word")
  const inner = tie("command")
  return {
    word: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom("a", HOLE, HOLE, "b#c", "\\\\", "$y", "'q'", '"d"', "$'e\\''", `'${HOLE}'`, "# x"),
      join("$(", inner, ")"),
      join('"', word, '"'),
      join('"$(', inner, ')"'),
      join("`", inner, "`"),
      join("${y:-", word, "}"),
      join('"${y:-', word, '}"'),
      join("$((1+", fc.constantFrom("2", "(3)", HOLE), "))"),
      join(word, word),
    ),
    command: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      join("echo ", word, " ", word),
      join("(", inner, ")"),
      join("{ ", inner, "; }"),
      join("case ", word, " in ", word, ") ", inner, ";; esac"),
      join("cat <<", fc.constantFrom("E", "'E'"), "\n", word, "\nE\n"),
      join("cat <<< ", word),
      join(inner, "\n", inner),
      join("if ", inner, "; then ", inner, "; fi"),
    ),
    script: join(inner, fc.constantFrom("; ", "\n", " && ", " | "), inner),
  }
})
