import { withCauses } from '#platform'
import { WebhookError } from '../../errors.ts'
import { type KnownRow, MAX_BATCH, type NewRow, type RowLayer, type RowStore } from '../../inbox/rows.ts'
import { abortable } from '../wait.ts'

/** Maximum number of characters of JSON in one call, unless a single row is longer. */
const MAX_CHARACTERS = 1024 ** 2

/** Rows to write. */
export interface Writing {
  layer: RowLayer
  rows: readonly NewRow[]
  generation: number
}

/** Lets timers and sockets run: a large window would otherwise block the event loop for seconds. */
export const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

/** Reads rows in batches. */
export async function readRows(
  store: RowStore,
  layer: RowLayer,
  ids: { keys: readonly string[]; objectIds: readonly string[] },
  signal: AbortSignal | undefined,
): Promise<KnownRow[]> {
  const rows: KnownRow[][] = []
  const length = Math.max(ids.keys.length, ids.objectIds.length)
  for (let from = 0; from < length; from += MAX_BATCH) {
    if (from > 0) await pause()
    signal?.throwIfAborted()
    const [keys, objectIds] = [ids.keys, ids.objectIds].map((list) => list.slice(from, from + MAX_BATCH))
    const reading = attempt(() => store.read(layer, keys ?? [], objectIds ?? []))
    rows.push(await (signal ? abortable(reading, signal) : reading))
  }
  return rows.flat()
}

/** Writes rows in batches. */
export async function writeRows(store: RowStore, { layer, rows, generation }: Writing): Promise<void> {
  for (const batch of toBatches(rows)) await attempt(() => store.write(layer, batch, generation))
}

export const forgetRows = (store: RowStore, service: string): Promise<void> =>
  attempt(() => store.forget(service))

function* toBatches(rows: readonly NewRow[]): Generator<NewRow[]> {
  let batch: NewRow[] = []
  let characters = 0
  for (const row of rows) {
    const length = row.value?.length ?? 0
    if (batch.length === MAX_BATCH || (batch.length > 0 && characters + length > MAX_CHARACTERS)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(row)
    characters += length
  }
  if (batch.length > 0) yield batch
}

async function attempt<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (cause) {
    if (cause instanceof WebhookError) throw cause
    throw new WebhookError('changes_unavailable', {
      message: `the store of the snapshots failed: ${withCauses(cause, cause instanceof Error ? cause.message : String(cause))}`,
      hint: 'Check the database that the store was created with.',
      cause,
    })
  }
}
