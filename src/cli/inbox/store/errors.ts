import { WebhookError } from '../../../index.ts'
import { CliError, EXIT, toCliError, usageError } from '../../errors.ts'
import { CONNECTION_ERRORS } from '../../io/http.ts'
import type { Engine, StoreAddress } from './address.ts'

/** Why a server is unreachable, by Node error code or SQLSTATE. Extends {@link CONNECTION_ERRORS}. */
const STORE_ERRORS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such socket'],
  ['57P03', 'it is not ready yet'],
])

/** Matches messages that mean that the server is unreachable, for errors without a known code. */
const UNREACHABLE =
  /connection (is closed|terminated)|timeout|timed out|not answered|max retries per request|cannot be reached|can't be reached/i

/** The npm packages that each engine requires, as arguments of `npm install`. */
const PACKAGES: Record<Engine, string> = {
  sqlite: 'better-sqlite3',
  postgres: 'pg-boss pg',
  redis: 'bullmq ioredis',
}

/** Converts an error of a store to a CliError without the secrets of the store's address. */
export function toStoreError(thrown: unknown, { engine, displayName, redact }: StoreAddress): CliError {
  if (thrown instanceof CliError) return thrown
  const errors = [...chainOf(thrown)]
  if (thrown instanceof WebhookError) {
    const { exitCode, code, message, hint } = toCliError(thrown)
    return new CliError(exitCode, code, redact(message), redact(hint))
  }
  if (errors.some(isMissingPackage)) {
    const names = PACKAGES[engine]
    return usageError(
      `the packages of ${engine} are not installed: ${names.replace(' ', ', ')}`,
      `npm install ${names}`,
      'package_missing',
    )
  }
  const why = engine === 'sqlite' ? undefined : whyUnreachable(errors)
  if (why) {
    const hint = 'Is it running, and is the address right?'
    return new CliError(EXIT.unreachable, 'unreachable', `cannot reach ${displayName}: ${why}`, hint)
  }
  const message = errors.map((error) => error.message).find(Boolean) ?? 'it failed'
  return new CliError(EXIT.failure, 'store_failed', `${displayName} reported: ${redact(message)}`)
}

/** Yields an error and its causes. If all addresses of a host name fail, Node throws an AggregateError. */
function* chainOf(thrown: unknown, depth = 0): Generator<NodeJS.ErrnoException> {
  if (!(thrown instanceof Error) || depth > 8) return
  yield thrown
  if (thrown instanceof AggregateError) for (const error of thrown.errors) yield* chainOf(error, depth + 1)
  yield* chainOf(thrown.cause, depth + 1)
}

const isMissingPackage = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'

function whyUnreachable(errors: readonly NodeJS.ErrnoException[]): string | undefined {
  for (const { code = '' } of errors) {
    const why = STORE_ERRORS.get(code) ?? CONNECTION_ERRORS.get(code)
    if (why) return why
  }
  return errors.some(({ message }) => UNREACHABLE.test(message)) ? 'no response' : undefined
}
