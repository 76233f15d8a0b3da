/**
 * `sous test [FILES]`: permission tables and test files → a line for each, with what failed in it.
 *
 * Invariant: everything is looked at, also after something that failed; settings of the machine change no result.
 */
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { findTests, isTable } from "./test-find.ts"
import type { Tested } from "./tested.ts"

/** Returns 1 when anything failed. Throws CLI_TEST_NONE and CLI_TEST_UNREADABLE. */
export async function test({ args, values }: CommandLine, host: Host): Promise<number> {
  const cwd = await host.cwd()
  const files = await findTests(args, cwd)
  const runTable = files.some(isTable) ? await (await import("./table-run.ts")).createTableRunner(host) : undefined
  let code = 0
  for (const file of files) {
    const result =
      isTable(file) && runTable
        ? await runTable(file)
        : await (await import("./test-code.ts")).runTestFile(file, { cwd, host })
    if (!result.ok) code = 1
    host.print(values.json ? `${JSON.stringify(jsonOf(result))}\n` : host.escape(textOf(result)))
    if (host.signal.aborted) return 130
  }
  return code
}

function textOf({ file, ok, count, failures }: Tested): string {
  const lines = failures.map((failure) => `  ${failure.trimEnd().replaceAll("\n", "\n  ")}\n`)
  return `${ok ? "ok    " : "FAIL  "}${file}: ${count}\n${lines.join("")}`
}

function jsonOf({ file, ok, count, failures, details }: Tested): object {
  return { file, ok, count, failures: details ?? failures }
}
