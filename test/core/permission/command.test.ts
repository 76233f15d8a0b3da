import { beforeAll, describe, expect, it } from "vitest"
import { analyseCommand, prepareCommands } from "../../../core/permission/command.ts"
import { operandsOf } from "../../../core/permission/operand.ts"

beforeAll(prepareCommands)

const options = { cwd: "/app", home: "/home/me" }
const analyse = (text: string) => analyseCommand(text, options)
const programs = (text: string) => analyse(text).all.map(({ words }) => words[0]?.guesses[0])
const files = (text: string) =>
  analyse(text).all.flatMap((segment) =>
    operandsOf(segment).map(({ access, guesses }) => `${access} ${guesses.join(" ")}`),
  )

describe("analyseCommand()", () => {
  it.each([
    ["a && b || c; d | e & f", ["a", "b", "c", "d", "e", "f"]],
    ["(a; b) && { c; }", ["a", "b", "c"]],
    ["if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]],
    ["while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]],
    ["for x in $(a); do b; done", ["a", "b"]],
    ["case $(a) in x) b;; *) c;; esac", ["a", "b", "c"]],
    ['a "$(b `c`)" <(d) ${x:-$(e)} $((1+$(f)))', ["a", "b", "c", "d", "e", "f"]],
    ["a <<EOF\n$(b)\nEOF", ["a", "b"]],
    ["x=$(a) b", ["b", "a"]],
    ["timeout -s KILL 5 nice -n 3 a", ["timeout", "nice", "a"]],
    ["sudo -u root env X=1 a", ["sudo", "env", "a"]],
    ["bash -lc 'a; sh -c b'", ["bash", "a", "sh", "b"]],
    ["eval 'a;' b", ["eval", "a", "b"]],
    ["xargs -I{} a {}", ["xargs", "a"]],
    ["find . -exec a {} + -o -execdir b \\;", ["find", "a", "b"]],
    ["env -S 'a b'", ["env", "a"]],
    ["command -v a", ["command"]],
    ["flock lock -c 'a b'", ["flock", "a"]],
    ["trap 'a' EXIT", ["trap", "a"]],
    ["printf 'a b' | sh", ["printf", "sh", "a"]],
    ["sh <<< 'a'", ["sh", "a"]],
  ])("finds every command of %j", (text, expected) => {
    expect(programs(text)).toEqual(expected)
    expect(analyse(text).trouble).toBeUndefined()
  })

  it("tells the value of a word only when it is known before the command runs", () => {
    const [segment] = analyse("a b'c'\"d\" $'\\x65' $HOME ~/x $X *.ts {a,b} \"$(cat <<'E'\nhi\nE\n)\"").segments
    expect(segment?.words.map(({ value }) => value)).toEqual([
      "a",
      "bcd",
      "e",
      "/home/me",
      "/home/me/x",
      undefined,
      "*.ts",
      undefined,
      "hi",
    ])
  })

  it("follows the current folder, and keeps the old one where a move may have failed", () => {
    const basesAt = (text: string) => analyse(text).segments.at(-1)?.bases
    expect(basesAt("cd src && a")).toEqual(["/app/src"])
    expect(basesAt("cd src; a")).toEqual(["/app/src", "/app"])
    expect(basesAt("cd src || a")).toEqual(["/app/src", "/app"])
    expect(basesAt("(cd src); a")).toEqual(["/app"])
    expect(basesAt("if a; then cd src; fi; b")).toEqual(["/app", "/app/src"])
    for (const text of ["cd $X && a", "cd - && a", "popd && a", "CDPATH=/x cd y && a"]) {
      expect(basesAt(text)).toBeUndefined()
    }
  })

  it.each(["a &&& b", "echo '", "cat <<EOF\nx", "a\0b", "a\rb", "a\u200bb", "a \ud800", "x".repeat(10_001)])(
    "finds trouble in %j, and still cuts it roughly",
    (text) => {
      const analysis = analyse(`${text}; sudo rm -rf x`)
      expect(analysis.trouble).toBeDefined()
      expect(programs(`${text}; sudo rm -rf x`)).toContain("rm")
    },
  )

  it("does not run out of stack or time on hostile texts", () => {
    const started = performance.now()
    const texts = [
      "(".repeat(4000),
      "$(".repeat(3000) + ")".repeat(3000),
      "eval ".repeat(1900) + "a",
      "sudo ".repeat(200_000) + "a",
      "{a,".repeat(2000) + "}".repeat(2000),
      "true;".repeat(200_000),
      "'".repeat(1_000_000),
    ]
    for (const text of texts) expect(analyse(text).all).toBeDefined()
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it("gives up on commands that multiply, and says so", () => {
    const texts = [
      "find . -exec ".repeat(700),
      "xargs ".repeat(1600),
      "sudo --x ".repeat(1100),
      "ssh h ".repeat(1600),
      "a > x ".repeat(1200),
      "f(){ g;g;g;};g(){ h;h;h;};h(){ i;i;i;};i(){ j;j;j;};j(){ k;k;k;};k(){ l;l;l;};l(){ m;m;m;}; f",
    ]
    for (const text of texts) expect(analyse(text).trouble).toBeDefined()
  })

  it("keeps no value that grows with every use", () => {
    const { all } = analyse(`x=aaaaaaaa;${"x=$x$x$x;".repeat(200)}echo $x`)
    expect(Math.max(...all.flatMap(({ words }) => words.map(({ guesses }) => guesses[0]!.length)))).toBeLessThan(20_000)
  })

  it("takes a file of the project for no wrapper, and no other spelling of a name for a harmless one", () => {
    const isClear = (text: string) => analyse(text).segments[0]?.inner.some(({ clear }) => clear)
    for (const text of ["timeout 5 a", "/usr/bin/timeout 5 a"]) expect(isClear(text)).toBe(true)
    for (const text of ["./timeout 5 a", "bin/nice a", "/tmp/nohup a", "TIMEOUT 5 a", "timeout.exe 5 a"]) {
      expect(isClear(text)).toBe(false)
    }
  })
})

describe("operandsOf()", () => {
  it.each([
    ["cat a b > c < d 2>&1", ["write c", "read d", "read a", "read b"]],
    ["grep x a", ["read a"]],
    ["sed -i s/x/y/ a", ["read a", "write a"]],
    ["cp a b c", ["read a", "read b", "write c c/a c/b"]],
    ["mv a b", ["read a", "write a", "write b b/a"]],
    ["cp -t d a", ["read a", "write d d/a"]],
    ["tee a b", ["write a", "write b"]],
    ["chmod -R 600 a", ["write a"]],
    ["dd if=a of=b", ["read a", "write b"]],
    ["sort -uo x a", ["read a", "write x"]],
    ["find a -fprint b", ["read a", "write b"]],
    ["git log --output=a", ["write a"]],
    ["git show HEAD:a", ["read a"]],
    ["curl -so a u", ["write a"]],
    ["echo a", []],
  ])("names the files of %j", (text, expected) => {
    expect(files(text)).toEqual(expected)
  })

  it("takes any number of words without running out of stack", () => {
    const [segment] = analyse("cat a $X").segments
    const [cat, a, open] = segment!.words
    const words = [cat!, ...Array.from({ length: 300_000 }, () => a!), { ...open!, splits: true }]
    expect(operandsOf({ ...segment!, words }).length).toBeGreaterThanOrEqual(300_000)
  })
})
