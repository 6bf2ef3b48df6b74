import type { ServerResponse } from 'node:http'
import { writeForwarded } from './forward.ts'

/** The response to every verified delivery, to try how the sender retries. */
export interface Answer {
  status: number
  /** Milliseconds to wait before the response. */
  delay: number
}

/**
 * Sends an empty response after the delay, or at once when `signal` aborts. `disconnected` is true if the sender closed
 * the connection first, as senders do when their time limit expires.
 */
export async function answerAfterDelay(
  res: ServerResponse,
  { status, delay }: Answer,
  signal: AbortSignal,
): Promise<{ status: number; disconnected: boolean }> {
  await untilDelayed(res, delay, signal)
  const disconnected = res.destroyed || res.req.socket.destroyed
  await writeForwarded(res, { status, headers: [], body: Buffer.alloc(0) })
  return { status, disconnected }
}

/** Resolves after the delay, when the connection closes, or when `signal` aborts. */
function untilDelayed(res: ServerResponse, delay: number, signal: AbortSignal): Promise<void> {
  const { socket } = res.req
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      socket.off('close', end)
      resolve()
    }
    const timer = setTimeout(end, delay)
    signal.addEventListener('abort', end)
    socket.setMaxListeners(0).once('close', end)
    if (signal.aborted || socket.destroyed) end()
  })
}
