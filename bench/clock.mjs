/**
 * One clock for every process of a measurement.
 *
 * Invariant: monotonic, and the same in all processes of a machine, so that a time of one may be taken from another's.
 */

/** ms since some fixed moment, with fractions. */
export function clock() {
  return Number(process.hrtime.bigint()) / 1e6
}
