import { errorChain } from './error-chain.ts'

/** Why a server is unreachable, by Node error code or SQLSTATE. */
export const CONNECTION_ERRORS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'the connection was closed before the response'],
  ['EPIPE', 'the connection was closed before the response'],
  ['ENOTFOUND', 'host not found'],
  ['EAI_AGAIN', 'the host name cannot be resolved now'],
  ['ETIMEDOUT', 'connection timed out'],
  ['EHOSTUNREACH', 'no route to the host'],
  ['ENETUNREACH', 'no route to the network'],
])

/** Reasons that only the connection to a database can have. */
const STORE_ERRORS: ReadonlyMap<string, string> = new Map([
  ...CONNECTION_ERRORS,
  ['ENOENT', 'no such socket'],
  ['57P01', 'it was shut down'],
  ['57P02', 'it has crashed'],
  ['57P03', 'it is not ready yet'],
])

/** Matches messages that mean that the server is unreachable, for errors without a known code. */
const UNREACHABLE = /connection terminated|timeout|timed out|not answered/i

/** Returns why the server of a store is unreachable, or undefined if it responded with an error. */
export function whyUnreachable(thrown: unknown): string | undefined {
  const errors = [...errorChain(thrown)]
  for (const { code = '' } of errors) {
    const why = STORE_ERRORS.get(code)
    if (why) return why
  }
  return errors.some(({ message }) => UNREACHABLE.test(message)) ? 'no response' : undefined
}
