/**
 * What was measured: lists of samples by figure and program, and the middle of each.
 *
 * Invariant: samples are only added; a figure that nobody measured has no value, which is not zero.
 */

/** An empty collection. */
export function createSamples() {
  const lists = {}
  return {
    lists,
    add(figure, program, value) {
      lists[figure] ??= {}
      lists[figure][program] ??= []
      lists[figure][program].push(value)
    },
    /** The median of a figure's samples. */
    middle: (figure, program) => median(lists[figure]?.[program] ?? []),
  }
}

/** The middle sample; of an even number, the mean of the two. */
export function median(values) {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b)
  const last = sorted.length - 1
  return last < 0 ? undefined : (sorted[Math.floor(last / 2)] + sorted[Math.ceil(last / 2)]) / 2
}
