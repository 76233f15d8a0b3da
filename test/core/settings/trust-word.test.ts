import { chmodSync, mkdirSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { scriptsOf } from "../../../core/settings/trust-script.ts"
import { filesInWords, filesOfVariable, pythonFiles } from "../../../core/settings/trust-word.ts"
import { folder } from "../../harness.ts"

const FILES = [
  "tools/a.sh",
  "tools/b.cjs",
  "tools/c.py",
  "tools/plain",
  "tools/run",
  "src/x.ts",
  "out.log",
  "data.json",
]
const MORE = ["node_modules/.bin/lint", "Makefile", "tools/__init__.py", "env.sh"]

function lay(): string {
  const root = realpathSync(folder())
  for (const file of [...FILES, ...MORE]) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), "")
  }
  chmodSync(join(root, "tools/run"), 0o755)
  return root
}

const below = (root: string, files: readonly string[]) => files.map((file) => file.slice(root.length + 1)).sort()

describe("scriptsOf() finds what is started by other ways than as the first word", () => {
  it.each([
    ["node -r ./tools/b.cjs -e 0", ["tools/b.cjs"]],
    ["node --import=./tools/b.cjs --no-warnings src/x.ts", ["src/x.ts", "tools/b.cjs"]],
    ["NODE_OPTIONS=--require=./tools/b.cjs node -e 0", ["tools/b.cjs"]],
    ["sh < tools/plain", ["tools/plain"]],
    ["cat tools/a.sh | sh", ["tools/a.sh"]],
    ["sh -eux -- tools/a.sh", ["tools/a.sh"]],
    ["bash -O extglob tools/a.sh extra", ["tools/a.sh"]],
    ["sh tools/*.sh", ["tools/a.sh"]],
    ['sh "$(git rev-parse --show-toplevel)/tools/a.sh"', ["tools/a.sh"]],
    ['eval "tools/run now"', ["tools/run"]],
    ["BASH_ENV=tools/a.sh bash -c true", ["tools/a.sh"]],
    ["PATH=$PWD/tools:$PATH; run", ["tools/run"]],
    ["python3 -m tools.c", ["tools/__init__.py", "tools/c.py"]],
    ["npx --no-install lint src/x.ts", ["node_modules/.bin/lint"]],
    ["make -s lint", ["GNUmakefile", "Makefile", "makefile"]],
    ["eslint src/x.ts >> out.log", []],
    ["npm test -- src/x.ts", []],
    ["node -e 0 < data.json > out.log", []],
  ])("%s", async (command, files) => {
    const root = lay()
    expect(below(root, await scriptsOf({ type: "command", command }, { root, home: "/home/me" }))).toEqual(files)
  })
})

describe("filesInWords()", () => {
  it("looks words up in the folder of the script too, and takes no logs and no data", () => {
    const root = lay()
    const text =
      '. "$(dirname "$0")/a.sh"\n"${BASH_SOURCE%/*}/run" x\nsource ./env.sh\njq .a data.json | tee -a out.log\n'
    const files = filesInWords(text, { root, base: join(root, "tools") })
    expect(below(root, files)).toEqual(["env.sh", "tools/a.sh", "tools/run"])
  })
})

describe("pythonFiles()", () => {
  it("finds modules of the project, and none of others", () => {
    const root = lay()
    const text = "import os, c\nfrom tools.c import d\n"
    const files = [...new Set(pythonFiles(text, { root, base: join(root, "tools") }))]
    expect(below(root, files)).toEqual(["tools/__init__.py", "tools/c.py"])
  })
})

describe("filesOfVariable()", () => {
  it.each([
    ["BASH_ENV", "tools/plain", ["tools/plain"]],
    ["NODE_OPTIONS", "--max-old-space-size=1 --import=./tools/b.cjs", ["tools/b.cjs"]],
    ["PATH", "$PWD/tools:/usr/bin", ["tools"]],
    ["MINE", "tools/run", ["tools/run"]],
    ["MINE", "data.json", []],
    ["PATH", "/usr/bin:..", []],
  ])("%s=%s", (name, value, files) => {
    const root = lay()
    expect(below(root, filesOfVariable(name, { value, root }))).toEqual(files)
  })
})
