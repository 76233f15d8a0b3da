/** A tool that reads the licenses of installed packages and names those that are not among the agreed ones. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { definePlugin, defineTool, z } from "sous"

const AGREED = [
  "MIT",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "Unlicense",
  "CC0-1.0",
  "BlueOak-1.0.0",
]

const licenses = defineTool({
  name: "Licenses",
  description: [
    "Lists installed npm packages whose license is not among the agreed ones, with name, version and license.",
    `Agreed without "allow": ${AGREED.join(", ")}. Looks at node_modules of the current directory.`,
  ].join(" "),
  input: z.strictObject({
    allow: z.array(z.string()).optional().describe("SPDX ids that are agreed to, instead of the usual ones"),
  }),
  readOnly: true,
  targets: () => [{ kind: "path", access: "read", path: "node_modules" }],
  async execute({ allow = AGREED }, { cwd }) {
    const packages = await installed(join(cwd, "node_modules"))
    const problems = packages.filter(({ license }) => !isAgreed(license, allow))
    const lines = problems.map(({ name, version, license }) => `${name} ${version}: ${license}`)
    const head = `${packages.length} packages, ${problems.length} with a license that is not agreed to`
    return { content: [head, ...lines].join("\n"), data: { packages: packages.length, problems } }
  },
})

export default definePlugin({ name: "licenses", tools: [licenses] })

interface Installed {
  name: string
  version: string
  license: string
}

async function installed(modules: string): Promise<Installed[]> {
  const found: Installed[] = []
  for (const name of await namesIn(modules)) {
    const names = name.startsWith("@") ? (await namesIn(join(modules, name))).map((one) => `${name}/${one}`) : [name]
    for (const one of names) {
      const read = await readPackage(join(modules, one))
      if (read !== undefined) found.push(read)
      found.push(...(await installed(join(modules, one, "node_modules"))))
    }
  }
  return found
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith(".")).sort()
  } catch {
    return []
  }
}

async function readPackage(folder: string): Promise<Installed | undefined> {
  try {
    const { name, version, license, licenses } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"))
    const said = license ?? licenses
    const one = (value: unknown) =>
      typeof value === "string" ? value : String((value as { type?: string })?.type ?? "none")
    return {
      name: String(name),
      version: String(version),
      license: Array.isArray(said) ? said.map(one).join(" OR ") : one(said),
    }
  } catch {
    return undefined
  }
}

/** `A OR B` needs one of them, `A AND B` both. Source: https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/ */
function isAgreed(license: string, allow: readonly string[]): boolean {
  const plain = license.replace(/[()]/g, "")
  return plain.split(/\s+OR\s+/).some((one) => one.split(/\s+AND\s+/).every((id) => allow.includes(id.trim())))
}
