import { describe, expect, it } from "vitest"
import { scriptsOf } from "../../../core/settings/trust-script.ts"

const PLACE = { root: "/work/it's here", home: "/home/me" }
const find = async (command: string, args?: string[]) =>
  (await scriptsOf({ type: "command", command, ...(args ? { args } : {}) }, PLACE)).map((file) =>
    file.slice(PLACE.root.length + 1),
  )

describe("scriptsOf()", () => {
  it.each([
    ["./hooks/a.sh --flag x.ts", ["hooks/a.sh"]],
    ["bash hooks/a.sh", ["hooks/a.sh"]],
    ['node "$CLAUDE_PROJECT_DIR"/hooks/a.js', ["hooks/a.js"]],
    ['"${SOUS_PROJECT_DIR}/hooks/a.sh"', ["hooks/a.sh"]],
    ["./a.sh && ./b.sh; python3 c.py | node d.js", ["a.sh", "b.sh", "c.py", "d.js"]],
    ["cd hooks && ./a.sh", ["hooks/a.sh"]],
    ["cd tools; python3 lint.py", ["lint.py", "tools/lint.py"]],
    ["bash -c 'exec ./a.sh'", ["a.sh"]],
    ["X=1 timeout 5 ./a.sh", ["a.sh"]],
    ["env -u A node a.js", ["a.js"]],
    ["if test -f x; then ./a.sh; fi", ["a.sh"]],
    ["echo $(./a.sh)", ["a.sh"]],
    [". ./env.sh; source lib/b.sh", ["env.sh", "lib/b.sh"]],
    ["~/own.sh; /usr/bin/true; ../outside.sh", []],
    ["npm test -- src/a.ts > out.log", []],
    ["eslint src/a.ts", []],
  ])("%s", async (command, files) => {
    expect((await find(command)).sort()).toEqual([...files].sort())
  })

  it("looks at programs that no shell starts, and at what a shell among them reads", async () => {
    expect(await find("${CLAUDE_PROJECT_DIR}/a.sh", ["b.sh"])).toEqual(["a.sh"])
    expect(await find("node", ["hooks/a.js", "x.js"])).toEqual(["hooks/a.js"])
    expect(await find("bash", ["-lc", "./a.sh && ./b.sh"])).toEqual(["a.sh", "b.sh"])
  })
})
