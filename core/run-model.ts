/**
 * The ids of models → models that are open: which ones a run uses, and the way to open each of them once.
 *
 * Invariant: a model is opened once for each run and id, by the first provider that takes the id at that moment.
 */
import type { Engine } from "./engine.ts"
import { SousError } from "./error.ts"
import type { KitParts, RunOptions } from "./kit.ts"
import type { Model, ModelProvider } from "./model.ts"
import { within } from "./patience.ts"
import type { Registry } from "./registry.ts"
import type { Recipe } from "./step.ts"

/** How long a model may take to be opened, ms. */
const OPEN_MS = 60_000

/** Models that a run has open, by id, and who gave them. */
export interface OpenModels {
  models: Map<string, Promise<Model>>
  providers: Set<ModelProvider>
}

export interface ModelsOptions extends Omit<RunOptions, "signal"> {
  signal: AbortSignal
  env: Engine["env"]
  opened: OpenModels
  /** What the plugins of the run add at this moment. */
  registry(): Registry
}

/** The models of a run: which ones it uses, and the way to open each of them once. */
export function modelsOf(
  kit: KitParts,
  recipe: Pick<Recipe<any, any>, "model">,
  options: ModelsOptions,
): Pick<Engine, "openModel" | "defaultModel" | "fallbackModel" | "autoModel"> {
  const { settings } = kit
  const { opened, standIn } = options
  return {
    openModel: (named) => {
      const model = standIn ?? named
      if (!opened.models.has(model)) opened.models.set(model, openModel(kit, model, options))
      return opened.models.get(model)!
    },
    defaultModel: standIn ?? options.model ?? recipe.model ?? settings.model ?? fallbackId(kit, options.env),
    fallbackModel: options.fallbackModel ?? settings.fallbackModel,
    autoModel: settings.permissions.autoModel,
  }
}

/** The model of a run that names none: what the first provider offers that has what it needs. */
function fallbackId(kit: KitParts, env: Engine["env"]): string | undefined {
  for (const provider of kit.registry.models) {
    const id = provider.fallbackId?.({ env })
    if (id !== undefined) return id
  }
  return undefined
}

async function openModel(kit: KitParts, id: string, options: ModelsOptions): Promise<Model> {
  const { env, signal, record, opened, registry } = options
  const { models } = registry()
  const provider = models.find((candidate) => candidate.handles(id, options))
  if (provider === undefined) throw new SousError("MODEL_UNKNOWN", { id, known: models.map(({ name }) => name) })
  opened.providers.add(provider)
  const { prices } = kit.settings
  const given = { cwd: kit.options.cwd, env, prices, signal, ...(record === undefined ? {} : { record }) }
  return await within(OPEN_MS, `opening the model "${id}"`, () => provider.open(id, given))
}
