/**
 * Rules that are odd in the same way → one finding for all of a file, at the first of them.
 *
 * Invariant: what one line can say of many rules is said once.
 */
import { clip, nearTool, type RuleFinding, type RuleGround, type RuleView, runsAnything } from "./check-rule-view.ts"

/** What holds for several rules of a file. */
export function groupFindings(views: readonly RuleView[], ground: RuleGround): RuleFinding[] {
  return byKey(views, ({ place }) => place.file).flatMap((file) => [
    ...awayTools(file, ground),
    ...together(file.filter(runsAnything), {
      say: (list) => `it lets a program run whatever it is handed${list}; mode auto leaves such rules out`,
      mend: "name what may run where that is known",
    }),
    ...together(file.filter(isOfOneMachine), {
      say: (list) => `it names a folder of one machine or person${list}`,
      mend: "keep such rules in local settings",
    }),
    ...(ground.isUntrusted ? waiting(file) : []),
  ])
}

function awayTools(views: readonly RuleView[], { tools, isPartial }: RuleGround): RuleFinding[] {
  const away = views.filter(({ kind, tool }) => {
    return kind === "unknown" && !/^(?:Task|Agent)$|_/.test(tool) && nearTool(tool, tools) === undefined
  })
  const where = isPartial ? "no tool that comes with sous is" : "no tool here is"
  return byKey(away, ({ tool }) => tool).flatMap((same) =>
    together(same, {
      say: (list) => `${where} named "${same[0]!.tool}", so it does nothing until one is${list}`,
      mend: "",
    }),
  )
}

const MACHINE = /(?:^|[\s"'=:(])\/{1,2}(?:Users|home|Volumes|mnt\/[a-z]|media)\/[^/\s*"')]+\//

function isOfOneMachine({ text, source }: RuleView): boolean {
  return source.scope !== "user" && source.scope !== "managed" && MACHINE.test(text)
}

/** Rules that do not count until somebody trusts the project. */
function waiting(views: readonly RuleView[]): RuleFinding[] {
  const allowing = views.filter(({ source }) => {
    return source.behavior === "allow" && (source.scope === "project" || source.scope === "local")
  })
  return together(allowing, {
    say: (list) => `it does not count until somebody trusts this project${list}`,
    mend: "look at it with sous trust",
  })
}

/** One note at the first, with how many more there are. */
function together(
  views: readonly RuleView[],
  { say, mend }: { say(list: string): string; mend: string },
): RuleFinding[] {
  const [view, ...others] = views
  if (view === undefined) return []
  const names = others.slice(0, 3).map(({ text, place }) => `"${clip(text)}" on line ${place.line}`)
  const more = others.length > names.length ? ` and ${others.length - names.length} more` : ""
  const list = others.length === 0 ? "" : ` (so do ${names.join(", ")}${more})`
  return [{ view, level: "note", problem: say(list), mend }]
}

function byKey<T>(values: readonly T[], keyOf: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group) group.push(value)
    else groups.set(keyOf(value), [value])
  }
  return [...groups.values()]
}
