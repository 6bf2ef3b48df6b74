import type { Response } from 'express'
import type { ExtractionFaultName } from '../../faults/extraction-faults.ts'
import { AdminError } from '../../http/errors.ts'

const PAGE = '<!doctype html><html lang="en"><title>Sign in</title><p>Sign in to see this page.</p></html>'

/**
 * Answers a request with a fault of every step.
 *
 * @returns undefined for another fault
 * @throws {AdminError} for a fault that is an error
 */
export function answerFault(
  fault: ExtractionFaultName | undefined,
): { send(res: Response): void } | undefined {
  if (fault === 'token_expired') throw new AdminError(498, 'Invalid token.')
  if (fault === 'error_with_200') throw new AdminError(500, 'Unable to complete operation.')
  return fault === 'html_answer' ? { send: sendPage } : undefined
}

function sendPage(res: Response): void {
  res.status(200).set({ 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' }).end(PAGE)
}
