/**
 * Events out to whoever watches: a callback, and any number of iterators from the moment they begin.
 *
 * Invariant: nobody who watches can slow, stop or break what is watched; without an iterator nothing is kept.
 */

/** A stream of events with many readers. */
export interface EventStream<T> {
  push(event: T): void
  end(): void
  subscribe(): AsyncIterator<T, undefined>
}

/** Makes a stream; a callback that throws is not called again. */
export function createEventStream<T>(onEvent: ((event: T) => void) | undefined): EventStream<T> {
  const readers = new Set<Reader<T>>()
  let callback = onEvent
  let ended = false
  return {
    push(event) {
      try {
        callback?.(event)
      } catch {
        callback = undefined
      }
      for (const reader of readers) reader.push(event)
    },
    end() {
      ended = true
      for (const reader of readers) reader.end()
      readers.clear()
    },
    subscribe() {
      const reader = createReader<T>(() => readers.delete(reader))
      if (ended) reader.end()
      else readers.add(reader)
      return reader.iterator
    },
  }
}

interface Reader<T> {
  push(event: T): void
  end(): void
  iterator: AsyncIterator<T, undefined>
}

function createReader<T>(onReturn: () => void): Reader<T> {
  const waiting: T[] = []
  let wake: (() => void) | undefined
  let done = false
  const stir = () => {
    wake?.()
    wake = undefined
  }
  return {
    push(event) {
      waiting.push(event)
      stir()
    },
    end() {
      done = true
      stir()
    },
    iterator: {
      async next() {
        while (waiting.length === 0 && !done) await new Promise<void>((resolve) => (wake = resolve))
        return waiting.length > 0 ? { value: waiting.shift()!, done: false } : { value: undefined, done: true }
      },
      async return() {
        done = true
        onReturn()
        return { value: undefined, done: true }
      },
    },
  }
}
