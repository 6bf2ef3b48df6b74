import type { Response } from 'express'
import type { Notices } from '../listeners.ts'
import { toAttemptJson } from './attempt-json.ts'

/** A comment now and then keeps proxies from hanging up. */
const HEARTBEAT = 15_000
/** A client that does not read is let go rather than remembered for. */
const MAX_BACKLOG = 4 * 1024 * 1024

/** Sends what happens as server-sent events (HTML Living Standard, section 9.2), until the client leaves. */
export function stream(notices: Notices, res: Response): void {
  let id = 0
  const write = (text: string): void => {
    if (res.writableLength > MAX_BACKLOG) res.destroy()
    else res.write(text)
  }
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  if (res.req.method === 'HEAD') return void res.end()
  write(': connected\n\n')
  const off = notices.on((notice) => {
    const { type, ...rest } = notice
    const data = notice.type === 'attempt' ? toAttemptJson(notice.attempt) : rest
    id += 1
    write(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  })
  const heartbeat = setInterval(() => write(': still here\n\n'), HEARTBEAT)
  res.on('close', () => {
    off()
    clearInterval(heartbeat)
  })
}
