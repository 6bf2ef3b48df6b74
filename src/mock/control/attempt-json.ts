import type { Attempt } from '../delivery/attempt-log.ts'

/** An attempt as JSON: the bytes of its body as base64. */
export type AttemptJson = Omit<Attempt, 'request'> & {
  request: { method: string; headers: Record<string, string>; body: string }
}

export const toAttemptJson = ({ request: { method, headers, body }, ...attempt }: Attempt): AttemptJson => ({
  ...attempt,
  request: { method, headers, body: Buffer.from(body).toString('base64') },
})
