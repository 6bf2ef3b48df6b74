import type { Context } from './html/page.ts'
import { renderRow, renderSummary } from './html/page.ts'
import { InspectorError } from './http.ts'
import { listRows, PAGE_SIZE } from './list.ts'
import type { Source } from './source.ts'

/** Milliseconds between two messages, so that a burst of deliveries becomes one update of the page. */
const INTERVAL = 100
/** Milliseconds between comments that keep proxies from closing the connection. */
const HEARTBEAT = 15_000

/** Maximum number of changed deliveries that wait for a slow client. */
const MAX_CHANGED = 5_000

/** Maximum number of open streams of a source. Each renders its own rows, so hundreds would block the process. */
const MAX_STREAMS = 32
const streams = new WeakMap<Source, number>()

const count = (source: Source, change: number): void =>
  void streams.set(source, (streams.get(source) ?? 0) + change)

/**
 * Changes of the list as server-sent events (HTML Living Standard, section 9.2): `rows` with the new markup of changed
 * rows, and `panels` if something else has changed. A slow client gets fewer messages, never a longer queue.
 *
 * @throws {InspectorError} 503 if too many streams are open
 */
export function streamChanges(context: Context): ReadableStream<Uint8Array> {
  const { source } = context
  if ((streams.get(source) ?? 0) >= MAX_STREAMS)
    throw new InspectorError(503, 'Too many pages of this inspector are open.')
  const encoder = new TextEncoder()
  let changed = new Set<string>()
  let isPanelChanged = false
  let timer: NodeJS.Timeout | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let isBusy = false
  let isStopped = false
  let removeListener = (): void => {}
  let controller: ReadableStreamDefaultController<Uint8Array>

  const send = (text: string): void => controller.enqueue(encoder.encode(text))
  const isReady = (): boolean => !isBusy && (controller.desiredSize ?? 0) > 0

  function schedule(): void {
    timer ??= setTimeout(flush, INTERVAL)
  }

  async function flush(): Promise<void> {
    timer = undefined
    if (isStopped || !isReady()) return // `pull` or the end of the current flush calls it again
    const ids = changed
    const hasPanels = isPanelChanged
    changed = new Set()
    isPanelChanged = false
    isBusy = true
    try {
      const changes = ids.size > 0 ? JSON.stringify(await renderChanges(context, ids)) : undefined
      if (isStopped) return // the client has disconnected
      if (changes) send(`event: rows\ndata: ${changes}\n\n`)
      if (hasPanels) send('event: panels\ndata:\n\n')
    } catch {
      return end()
    } finally {
      isBusy = false
    }
    if (changed.size > 0 || isPanelChanged) schedule()
  }

  /** Ends the stream. The browser then connects again, and reads the whole list. */
  function end(): void {
    if (isStopped) return
    stop()
    changed.clear()
    controller.close()
  }

  function stop(): void {
    if (isStopped) return
    isStopped = true
    count(source, -1)
    clearTimeout(timer)
    clearInterval(heartbeat)
    removeListener()
  }

  return new ReadableStream({
    start(given) {
      controller = given
      send('retry: 1000\n: connected\n\n')
      removeListener = source.on((ids) => {
        if (ids) for (const id of ids) changed.add(id)
        else isPanelChanged = true
        if (changed.size > MAX_CHANGED) end()
        else schedule()
      })
      count(source, 1)
      heartbeat = setInterval(() => (controller.desiredSize ?? 0) > 0 && send(': still here\n\n'), HEARTBEAT)
    },
    pull() {
      if (changed.size > 0 || isPanelChanged) schedule()
    },
    cancel: stop,
  })
}

/**
 * The markup of the changed rows that match the filters, newest first, and the ids of the others. Reads one page of the
 * source, because changes are among its newest deliveries. Without the other pages, the summary may be incomplete.
 */
async function renderChanges(context: Context, ids: ReadonlySet<string>): Promise<object> {
  const after = context.request.query.get('after') ?? undefined
  const { rows, next } = await listRows(context.source, context.filters, after, 1)
  const shown = rows.filter(({ id }) => ids.has(id))
  const found = new Set(shown.map(({ id }) => id))
  const isComplete = next === undefined || rows.length >= PAGE_SIZE
  return {
    rows: shown.map((row) => ({ id: row.id, html: renderRow(row, context).markup })),
    removed: [...ids].filter((id) => !found.has(id)),
    ...(isComplete && { summary: renderSummary(rows).markup }),
  }
}
