import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type CheckOptions, type CheckReport, type CheckVerdict, checkReceiver } from 'geohook/check'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'

/** Runs a check of a receiver that a function implements. */
export async function checkListener(
  listener: RequestListener,
  options: Partial<CheckOptions> = {},
): Promise<CheckReport> {
  const { url } = await serve(listener)
  return checkReceiver({ url: `${url}/hook`, signatureKey: KEY, timeout: 2_000, ...options })
}

/** Returns the ids of the results with a verdict. */
export const idsOf = ({ results }: CheckReport, verdict: CheckVerdict): string[] =>
  results.filter((result) => result.verdict === verdict).map(({ id }) => id)

/** Returns the result of a scenario. */
export function resultOf({ results }: CheckReport, id: string): CheckReport['results'][number] {
  const result = results.find((candidate) => candidate.id === id)
  if (!result) throw new Error(`no result of ${id}`)
  return result
}

/** Answers every request alike, after reading it. */
export const always =
  (status: number, body = '', headers: Record<string, string> = {}): RequestListener =>
  (req: IncomingMessage, res: ServerResponse) => {
    req.resume().on('end', () => res.writeHead(status, headers).end(body))
  }
