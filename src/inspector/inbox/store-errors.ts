import { errorChain, whyUnreachable } from '../../adapters/connection-errors.ts'
import { InspectorError } from '../http/message.ts'

/** Matches error codes, such as `SQLITE_BUSY` or `57014`. They contain no secret. */
const CODE = /^[A-Za-z0-9_]{3,40}$/

/**
 * Converts an error of a store to one that the page shows. Messages of stores can quote the address with its password,
 * so only known reasons and error codes are shown.
 */
export function toStoreError(thrown: unknown): InspectorError {
  if (thrown instanceof InspectorError) return thrown
  const why = whyUnreachable(thrown)
  if (why !== undefined)
    return new InspectorError(
      503,
      `The store of the inbox is unreachable: ${why}. Reload the page when the store is back.`,
    )
  const code = [...errorChain(thrown)].map((error) => error.code).find((text) => CODE.test(String(text)))
  return new InspectorError(503, `The store of the inbox reported an error${code ? ` (${code})` : ''}.`)
}
