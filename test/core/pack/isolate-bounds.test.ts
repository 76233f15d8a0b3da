import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { isSousError } from "../../../core/error.ts"
import { toolPlugin, usePlace } from "./isolate-place.ts"

const place = usePlace()

/** Tries each of these in the plugin; each is the body of an async function that returns what it got hold of. */
async function tryAll(
  attempts: Record<string, string>,
  options: Parameters<typeof place.load>[1] & { files?: Record<string, string> } = {},
) {
  const { files = {}, ...rest } = options
  const tries = Object.entries(attempts).map(([name, body]) => `${JSON.stringify(name)}: async () => { ${body} }`)
  const loaded = await place.load(
    {
      "plugin.mjs": toolPlugin(`
        const found = {}
        for (const [name, attempt] of Object.entries({ ${tries.join(",\n")} })) {
          try { found[name] = "got " + String(await attempt()).slice(0, 60) } catch (error) { found[name] = error.code ?? error.message }
        }
        return { content: "", data: found }`),
      ...files,
    },
    rest,
  )
  return ((await loaded.call()) as { data: Record<string, string> }).data
}

const DENIED = "ERR_ACCESS_DENIED"
const all = (names: object, value: string) => Object.fromEntries(Object.keys(names).map((name) => [name, value]))

describe("an isolated plugin", () => {
  it("reads its own folder and nothing outside", async () => {
    const outside = place.folder({ secret: "secret", "module.cjs": "module.exports = 1", "data.json": "{}" })
    const file = JSON.stringify(join(outside, "secret"))
    const attempts = {
      readFile: `return fs.readFileSync(${file})`,
      promises: `return await fs.promises.readFile(${file})`,
      buffer: `return fs.readFileSync(Buffer.from(${file}))`,
      url: `return fs.readFileSync(new URL("file://" + ${file}))`,
      traversal: `return fs.readFileSync(context.cwd + "/x/../../../../../../" + ${file})`,
      stream: `return await new Promise((ok, no) => fs.createReadStream(${file}).on("data", ok).on("error", no))`,
      opendir: `return fs.opendirSync(${JSON.stringify(outside)})`,
      readdir: `return fs.readdirSync(${JSON.stringify(outside)})`,
      blob: `return await (await fs.openAsBlob(${file})).text()`,
      copy: `fs.cpSync(${file}, context.cwd + "/copy")`,
      stat: `return fs.statSync(${file})`,
      watch: `return fs.watch(${JSON.stringify(outside)})`,
      environ: `return fs.readFileSync("/proc/self/environ")`,
      host: `return fs.readFileSync("/proc/" + process.ppid + "/environ")`,
      env: `return process.loadEnvFile(${file})`,
      chdir: `process.chdir(${JSON.stringify(outside)})`,
      link: `fs.symlinkSync(${file}, context.cwd + "/link"); return fs.readFileSync(context.cwd + "/link")`,
      hardLink: `fs.linkSync(${file}, context.cwd + "/link"); return fs.readFileSync(context.cwd + "/link")`,
    }
    expect(await tryAll(attempts)).toEqual(all(attempts, DENIED))
    const modules = {
      require: `return require(${JSON.stringify(join(outside, "module.cjs"))})`,
      json: `return JSON.stringify(require(${JSON.stringify(join(outside, "data.json"))}))`,
      import: `return await import(${JSON.stringify(join(outside, "module.cjs"))})`,
    }
    // Some Nodes refuse them in other words.
    expect(Object.values(await tryAll(modules)).filter((found) => found.startsWith("got"))).toEqual([])
    const own = { own: `return fs.readFileSync(new URL("./note", import.meta.url))` }
    expect(await tryAll(own, { files: { note: "mine" } })).toEqual({ own: "got mine" })
  })

  it("writes nowhere", async () => {
    const target = place.folder({ kept: "kept" })
    const file = JSON.stringify(join(target, "kept"))
    const attempts = {
      writeFile: `fs.writeFileSync(${file}, "x")`,
      own: `fs.writeFileSync(new URL("./new", import.meta.url), "x")`,
      append: `fs.appendFileSync(${file}, "x")`,
      open: `return fs.openSync(${file}, "r+")`,
      truncate: `fs.truncateSync(${file})`,
      rename: `fs.renameSync(${file}, ${file} + "2")`,
      remove: `fs.rmSync(${file})`,
      mkdir: `fs.mkdirSync(${file} + "3")`,
      mkdtemp: `fs.mkdtempSync(${file})`,
      chmod: `fs.chmodSync(${file}, 0o777)`,
      utimes: `fs.utimesSync(${file}, 1, 1)`,
      stream: `return await new Promise((ok, no) => fs.createWriteStream(${file}).on("open", ok).on("error", no))`,
      report: `process.report.writeReport(${file})`,
      snapshot: `require("v8").writeHeapSnapshot(${file})`,
      flags: `require("v8").setFlagsFromString("--trace-turbo-path=${target}")`,
      nearLimit: `require("v8").setHeapSnapshotNearHeapLimit(1)`,
      trace: `require("trace_events").createTracing({ categories: ["v8"] }).enable()`,
    }
    expect(await tryAll(attempts)).toEqual(all(attempts, DENIED))
    expect(readFileSync(join(target, "kept"), "utf8")).toBe("kept")
    const database = await tryAll({
      sqlite: `new (require("node:sqlite").DatabaseSync)(${file} + ".db").exec("create table a(b)")`,
    })
    expect(database["sqlite"]).not.toContain("got")
    expect(existsSync(join(target, "kept.db"))).toBe(false)
  })

  it("starts nothing, loads no native code, reaches into no other process", async () => {
    const attempts = {
      exec: `return require("child_process").execSync("id")`,
      spawn: `return await new Promise((ok, no) => require("child_process").spawn("id").on("exit", ok).on("error", no))`,
      cluster: `return require("cluster").fork()`,
      worker: `return new (require("worker_threads").Worker)("1", { eval: true })`,
      wasi: `return new (require("wasi").WASI)({ version: "preview1", preopens: { "/": "/" } })`,
      binding: `return process.binding("fs")`,
      inspector: `require("inspector").open(0)`,
      session: `new (require("inspector").Session)().connect()`,
      kill: `process.kill(process.ppid, 0)`,
      rawKill: `process._kill(process.ppid, 0)`,
      debug: `process._debugProcess(process.ppid)`,
      imported: `(await import("node:process")).kill(process.ppid, 0)`,
      priority: `require("os").setPriority(process.ppid, 19)`,
      register: `require("module").register("data:text/javascript,")`,
      putBack: `Object.defineProperty(process, "kill", { value: 1 })`,
    }
    expect(await tryAll(attempts)).toMatchObject({
      ...all(attempts, DENIED),
      putBack: "Cannot redefine property: kill",
    })
  }, 30_000)

  it("loads no addon", async () => {
    const found = await tryAll(
      { addon: `process.dlopen({ exports: {} }, context.cwd + "/a.node")` },
      { files: { "a.node": "" } },
    )
    expect(found).toEqual({ addon: "ERR_DLOPEN_DISABLED" })
  })

  it("reaches no network that it does not name", async () => {
    const { createServer } = await import("node:http")
    const server = createServer((_, answer) => answer.end("hello")).listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as { port: number }
    const settled = (start: string) => `return await new Promise((ok, no) => { ${start} })`
    const attempts = {
      http: settled(`require("http").get("http://127.0.0.1:${port}/", ok).on("error", no)`),
      net: settled(`require("net").connect(${port}, "127.0.0.1").on("connect", () => ok(1)).on("error", no)`),
      unix: settled(`require("net").connect("/tmp/none.sock").on("connect", () => ok(1)).on("error", no)`),
      tls: settled(`require("tls").connect(${port}, "127.0.0.1").on("secureConnect", ok).on("error", no)`),
      listen: settled(`require("net").createServer().listen(0, () => ok(1)).on("error", no)`),
      udp: settled(`require("dgram").createSocket("udp4").send("x", ${port}, "127.0.0.1", (e) => e ? no(e) : ok(1))`),
      lookup: settled(`require("dns").lookup("localhost", (e, a) => e ? no(e) : ok(a))`),
      resolver: `return await new (require("dns").promises.Resolver)().resolve4("localhost")`,
    }
    const fetched = { fetch: `return await (await fetch("http://127.0.0.1:${port}/")).text()` }
    try {
      expect(await tryAll(attempts)).toEqual(all(attempts, DENIED))
      expect(await tryAll(fetched)).toEqual({ fetch: "fetch failed" })
      const capabilities = { tools: ["T"], net: ["127.0.0.1"] }
      expect(await tryAll(fetched, { capabilities })).toEqual({ fetch: "got hello" })
    } finally {
      server.close()
    }
  })

  it("sees of the environment what was named", async () => {
    const env = { PATH: "/bin", HOME: "/h", TOKEN: "secret", NAMED: "1", LANG: "C" }
    const attempts = { env: `return JSON.stringify(process.env)` }
    const seen = async (capabilities: object) =>
      JSON.parse((await tryAll(attempts, { env, capabilities: { tools: ["T"], ...capabilities } }))["env"]!.slice(4))
    expect(await seen({ env: ["NAMED"] })).toEqual({ NAMED: "1", LANG: "C" })
    expect(await seen({ exec: ["git"] })).toEqual({ PATH: "/bin", HOME: "/h", LANG: "C" })
  })

  it("reads and writes the paths that were named, also those that are not there yet, and starts programs", async () => {
    const project = place.folder({ "data/a": "a", "data2/b": "b", "a,b/c": "c" })
    const at = (path: string) => JSON.stringify(join(project, path))
    const attempts = {
      a: `return fs.readFileSync(${at("data/a")})`,
      beside: `return fs.readFileSync(${at("data2/b")})`,
      comma: `return fs.readFileSync(${at("a,b/c")})`,
      made: `fs.mkdirSync(${at("out/deep")}, { recursive: true }); fs.writeFileSync(${at("out/deep/x")}, "x"); return "made"`,
      besideOut: `fs.writeFileSync(${at("outer")}, "x")`,
      program: `return require("child_process").execFileSync("echo", ["hi"])`,
    }
    const capabilities = { tools: ["T"], read: ["./data/**", "a,b"], write: ["out"], exec: ["echo"] }
    expect(await tryAll(attempts, { cwd: project, capabilities, env: process.env })).toEqual({
      a: "got a",
      beside: DENIED,
      comma: "got c",
      made: "got made",
      besideOut: DENIED,
      program: "got hi\n",
    })
    expect(readFileSync(join(project, "out/deep/x"), "utf8")).toBe("x")
  })

  it("gets no folder with links that lead out of it", async () => {
    const outside = place.folder({ secret: "secret" })
    const refusal = async (lay: (folder: string) => void) => {
      const folder = place.folder({ "plugin.mjs": toolPlugin("return 1"), "sub/real": "1" })
      lay(folder)
      const failed = await place.load("", { folder }).catch((error) => error)
      return isSousError(failed) ? `${failed.code}: ${failed.message}` : "loaded"
    }
    expect(await refusal((folder) => symlinkSync(join(outside, "secret"), join(folder, "sub/link")))).toMatch(
      /^ISOLATION_FOLDER_UNSAFE: .*sub\/link leads out of it/,
    )
    expect(await refusal((folder) => symlinkSync(outside, join(folder, "link")))).toMatch(/^ISOLATION_FOLDER_UNSAFE/)
    expect(await refusal((folder) => symlinkSync("/nowhere/at/all", join(folder, "link")))).toMatch(/leads nowhere/)
    expect(await refusal((folder) => symlinkSync("sub/real", join(folder, "link")))).toBe("loaded")
    const home = place.folder({ "plugin.mjs": "", ".ssh/key": "key" })
    const failed = await place.load("", { folder: home, home: join(home, "me") }).catch((error) => error)
    expect(failed.message).toContain("it holds")
  })

  it("cannot reach the host by what it prints, however much", async () => {
    const loaded = await place.load(
      toolPlugin(`
        for (let i = 0; i < 3000; i++) console.log("line " + i + "x".repeat(1000))
        process.stderr.write("no end of line".repeat(1e5))
        return "fine"`),
    )
    expect(await loaded.call()).toBe("fine")
    await expect.poll(() => loaded.notices.at(-1)).toContain("the rest of what it prints is left out")
    expect(loaded.notices.length).toBeLessThanOrEqual(101)
    expect(loaded.notices.every((line) => line.length < 700)).toBe(true)
    expect(loaded.notices[0]).toContain("prints: line 0x")
  })
})

describe("capabilities that cannot be given", () => {
  it("are refused, each by its name", async () => {
    const project = place.folder({ "in/x": "" })
    const outside = place.folder({ x: "" })
    symlinkSync(outside, join(project, "out"))
    symlinkSync("/nowhere/at/all", join(project, "dangling"))
    mkdirSync(join(project, "state/sous"), { recursive: true })
    const env = { XDG_STATE_HOME: join(project, "state") }
    const cases: [object, RegExp][] = [
      [{ read: ["src/*.ts"] }, /read "src\/\*\.ts": a path may be no pattern/],
      [{ read: [""] }, /no pattern/],
      [{ write: ["{a,b}"] }, /no pattern/],
      [{ read: ["~other/x"] }, /another user/],
      [{ read: ["out"] }, /leads out of the project/],
      [{ write: ["dangling"] }, /leads nowhere yet/],
      [{ write: ["state"] }, /belongs to the toolkit/],
      [{ write: ["state/sous/projects"] }, /belongs to the toolkit/],
      [{ write: ["/"] }, /belongs to the toolkit/],
      [{ env: ["NODE_OPTIONS"] }, /env "NODE_OPTIONS"/],
      [{ env: ["LD_PRELOAD"] }, /env "LD_PRELOAD"/],
    ]
    for (const [capabilities, wanted] of cases) {
      const failed = await place
        .load(toolPlugin("return 1"), { cwd: project, env, capabilities })
        .catch((error) => error)
      expect(isSousError(failed) && failed.code).toBe("ISOLATION_CAPABILITY_INVALID")
      expect(failed.message).toMatch(wanted)
    }
  })
})
