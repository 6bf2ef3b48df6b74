import type { Response } from 'express'
import type { Listeners } from '../event-listeners.ts'
import { toAttemptJson } from './json.ts'

/** Milliseconds between heartbeat comments, which keep proxies from closing the connection. */
const HEARTBEAT = 15_000
/** Maximum number of buffered bytes. Beyond this, the client is too slow, and its connection is closed. */
const MAX_BACKLOG = 4 * 1024 * 1024

/** Sends notices as server-sent events (HTML Living Standard, section 9.2) until the client disconnects. */
export function streamNotices(listeners: Listeners, res: Response): void {
  let id = 0
  const write = (text: string): void => {
    if (res.writableLength > MAX_BACKLOG) res.destroy()
    else res.write(text)
  }
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  if (res.req.method === 'HEAD') return void res.end()
  write(': connected\n\n')
  const removeListener = listeners.on((notice) => {
    const { type, ...rest } = notice
    const data = notice.type === 'attempt' ? toAttemptJson(notice.attempt) : rest
    id += 1
    write(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  })
  const heartbeat = setInterval(() => write(': still here\n\n'), HEARTBEAT)
  res.on('close', () => {
    removeListener()
    clearInterval(heartbeat)
  })
}
