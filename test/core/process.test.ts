import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { type ProcessOptions, runProcess } from "../../core/process.ts"
import { isRunning } from "../contract/tool.ts"

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sous-process-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const PATH = process.env["PATH"] ?? ""

function options(more: Partial<ProcessOptions> = {}): ProcessOptions {
  return { cwd: folder, env: { PATH }, signal: new AbortController().signal, timeoutMs: 10_000, ...more }
}

const pidIn = (text: Buffer) => Number(/\d+/.exec(text.toString())?.[0])

describe("runProcess() runs to the end", () => {
  test("keeps both streams apart and tells the exit code", async () => {
    const result = await runProcess("echo out; echo err >&2; exit 3", options())
    expect(result.stdout.toString()).toBe("out\n")
    expect(result.stderr.toString()).toBe("err\n")
    expect(result).toMatchObject({ code: 3, signal: null, timedOut: false, aborted: false, leftover: false })
  })

  test("runs a program without a shell, its arguments as they are", async () => {
    const result = await runProcess(
      { file: process.execPath, args: ["-p", "process.argv[1]", "$HOME; `x`"] },
      options(),
    )
    expect(result.stdout.toString()).toBe("$HOME; `x`\n")
  })

  test("hands on exactly the environment it was given", async () => {
    const result = await runProcess({ file: "/usr/bin/env", args: [] }, options({ env: { ONE: "1" } }))
    expect(result.stdout.toString()).toBe("ONE=1\n")
  })

  test("writes stdin and closes it; without it the input is empty", async () => {
    const given = await runProcess("cat", options({ stdin: "to the child" }))
    const none = await runProcess("cat", options())
    expect(given.stdout.toString()).toBe("to the child")
    expect(none).toMatchObject({ code: 0, stdoutBytes: 0 })
  })

  test("survives a child that does not read its stdin", async () => {
    const result = await runProcess("exit 0", options({ stdin: Buffer.alloc(2 ** 20) }))
    expect(result.code).toBe(0)
  })

  test("needs no PATH", async () => {
    const result = await runProcess("echo here", options({ env: {} }))
    expect(result.stdout.toString()).toBe("here\n")
  })

  test("hands on binary output byte for byte", async () => {
    const result = await runProcess("printf '\\000\\377\\376\\n'", options())
    expect([...result.stdout]).toEqual([0, 255, 254, 10])
  })

  test("tells the signal that ended the child", async () => {
    const result = await runProcess("kill -9 $$", options())
    expect(result).toMatchObject({ code: null, signal: "SIGKILL", timedOut: false, aborted: false })
  })
})

describe("runProcess() that cannot start", () => {
  test("ends with 127 when there is no such program", async () => {
    const result = await runProcess({ file: "no-such-program", args: [] }, options())
    expect(result).toMatchObject({ code: 127, error: 'Cannot run "no-such-program": there is no such program' })
  })

  test("ends with 126 when the file may not be executed", async () => {
    const result = await runProcess({ file: import.meta.filename, args: [] }, options())
    expect(result.code).toBe(126)
    expect(result.error).toContain("it may not be executed")
  })

  test("ends with 126 and names the folder when the working directory is gone", async () => {
    const result = await runProcess("true", options({ cwd: join(folder, "gone") }))
    expect(result.code).toBe(126)
    expect(result.error).toContain("gone")
  })

  test("ends with 126 when the command is longer than the system takes", async () => {
    const result = await runProcess(`: ${"x".repeat(3_000_000)}`, options())
    expect(result.code).toBe(126)
    expect(result.error).toContain("too long")
  })

  test("does not start at all when the signal has fired", async () => {
    const marker = join(folder, "marker")
    const result = await runProcess(`touch ${marker}`, options({ signal: AbortSignal.abort() }))
    expect(result.aborted).toBe(true)
    expect(() => readFileSync(marker)).toThrow()
  })
})

describe("runProcess() bounds", () => {
  test("keeps the start of 50 MB, hands on all of it and holds little", async () => {
    let bytes = 0
    const before = process.memoryUsage().rss
    const onChunk = (chunk: Buffer) => {
      bytes += chunk.length
    }
    const result = await runProcess("head -c 50000000 /dev/zero", options({ onChunk, keepBytes: 1000 }))
    expect(bytes).toBe(50_000_000)
    expect(result.stdoutBytes).toBe(50_000_000)
    expect(result.stdout.length).toBe(1000)
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20)
  })

  test("holds the stream back while onChunk is at work", async () => {
    let atWork = 0
    let most = 0
    const onChunk = async () => {
      most = Math.max(most, ++atWork)
      await new Promise((resolve) => setImmediate(resolve))
      atWork--
    }
    const result = await runProcess("head -c 1000000 /dev/zero", options({ onChunk }))
    expect(result.stdoutBytes).toBe(1_000_000)
    expect(most).toBe(1)
  })

  test("ends the child and rejects with what onChunk threw", async () => {
    const onChunk = () => {
      throw new Error("disk full")
    }
    await expect(runProcess("echo x; sleep 30", options({ onChunk }))).rejects.toThrow("disk full")
  })

  test("ends the whole group when the time is up", async () => {
    const result = await runProcess("sleep 30 & echo $!; wait", options({ timeoutMs: 100 }))
    expect(result).toMatchObject({ timedOut: true, aborted: false, code: null, signal: "SIGTERM" })
    expect(isRunning(pidIn(result.stdout))).toBe(false)
  })

  test("kills a child that ignores SIGTERM after the grace", async () => {
    const command = "trap '' TERM; echo $$; while :; do sleep 0.05; done"
    const result = await runProcess(command, options({ timeoutMs: 100, killGraceMs: 200 }))
    expect(result).toMatchObject({ timedOut: true, signal: "SIGKILL" })
    expect(isRunning(pidIn(result.stdout))).toBe(false)
  })

  test("lets a child that handles SIGTERM finish its output", async () => {
    const command = "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.02; done"
    const controller = new AbortController()
    const result = await runProcess(command, options({ signal: controller.signal, onChunk: () => controller.abort() }))
    expect(result).toMatchObject({ aborted: true, code: 7 })
    expect(result.stdout.toString()).toBe("up\nbye\n")
  })

  test("ends the group in the middle when the signal fires", async () => {
    const controller = new AbortController()
    const onChunk = () => controller.abort()
    const result = await runProcess("sleep 30 & echo $!; wait", options({ signal: controller.signal, onChunk }))
    expect(result).toMatchObject({ aborted: true, timedOut: false })
    expect(isRunning(pidIn(result.stdout))).toBe(false)
  })
})

describe("runProcess() and what its child leaves behind", () => {
  test("goes on and ends a grandchild that holds the pipe", async () => {
    const result = await runProcess("sleep 30 & echo $!", options())
    expect(result).toMatchObject({ code: 0, leftover: true })
    expect(result.durationMs).toBeLessThan(2000)
    expect(isRunning(pidIn(result.stdout))).toBe(false)
  })

  test("ends a grandchild that writes without end and ignores SIGTERM", async () => {
    const result = await runProcess("(trap '' TERM; exec yes) & echo $!", options({ keepBytes: 100 }))
    expect(result).toMatchObject({ code: 0, leftover: true })
    expect(isRunning(pidIn(result.stdout))).toBe(false)
  })

  test("ends a background server that has let go of the pipe", async () => {
    const server = `${process.execPath} -e 'require("http").createServer().listen(0)'`
    const result = await runProcess(`${server} >/dev/null 2>&1 </dev/null & echo $!`, options())
    expect(result).toMatchObject({ code: 0, leftover: true })
    expect(isRunning(pidIn(result.stdout))).toBe(false)
  })

  test("waits for the last words of a grandchild that is about to end", async () => {
    const result = await runProcess("(sleep 0.1; echo late) &", options())
    expect(result.stdout.toString()).toBe("late\n")
    expect(result.leftover).toBe(false)
  })

  test("keeps the last words of a child that was silent for long, also when its end is seen before them", async () => {
    const hold = (ms: number) => {
      for (const until = performance.now() + ms; performance.now() < until; );
    }
    // One poll sees the words and the end of the first child. While its words are handled the second one speaks and
    // ends: that end is seen in the same poll, and what it said only in the next.
    const first = runProcess("sleep 0.2; echo first", options({ onChunk: () => hold(900) }))
    const second = runProcess("sleep 0.8; printf last", options())
    await new Promise((resolve) => setTimeout(resolve, 100))
    hold(400)
    const results = await Promise.all([first, second])
    expect(results.map(({ stdout }) => stdout.toString())).toEqual(["first\n", "last"])
  })

  test("kills what runs when this process itself exits", async () => {
    const script = `
      import { runProcess } from ${JSON.stringify(join(import.meta.dirname, "../../core/process.ts"))}
      const onChunk = (chunk) => process.stdout.write(chunk, () => process.exit(0))
      const signal = new AbortController().signal
      runProcess("echo $$; exec sleep 30", { cwd: "/", env: {}, signal, timeoutMs: 0, onChunk })
    `
    const file = join(folder, "exits.mts")
    writeFileSync(file, script)
    const tsx = import.meta.resolve("tsx")
    const result = await runProcess({ file: process.execPath, args: ["--import", tsx, file] }, options())
    expect(result).toMatchObject({ code: 0, leftover: false })
    const pid = pidIn(result.stdout)
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 2000, interval: 10 })
  })
})
