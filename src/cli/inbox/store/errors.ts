import { WebhookError } from '../../../index.ts'
import { CliError, EXIT, toCliError, usageError } from '../../errors.ts'
import type { Engine, StoreAddress } from './address.ts'

/** What Node, PostgreSQL and ioredis say where nobody answers. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'nobody listens there'],
  ['ECONNRESET', 'the connection was cut'],
  ['EPIPE', 'the connection was cut'],
  ['ENOTFOUND', 'there is no such host'],
  ['EAI_AGAIN', 'the name of the host cannot be looked up now'],
  ['ETIMEDOUT', 'no answer in time'],
  ['EHOSTUNREACH', 'there is no way to it'],
  ['ENETUNREACH', 'there is no way to it'],
  ['ENOENT', 'there is no such socket'],
  ['57P03', 'it is not ready yet'],
])

/** The same without a code. */
const UNREACHABLE =
  /connection (is closed|terminated)|timeout|timed out|not answered|max retries per request|cannot be reached|can't be reached/i

/** What to install where an engine is not there. */
const PACKAGES: Record<Engine, string> = {
  sqlite: 'better-sqlite3',
  postgres: 'pg-boss pg',
  redis: 'bullmq ioredis',
}

/** What happened at a store, as an error that can be told: without what is secret in its address. */
export function toStoreError(thrown: unknown, { engine, place, redact }: StoreAddress): CliError {
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
    const hint = 'Is it started, and is the address right?'
    return new CliError(EXIT.unreachable, 'unreachable', `cannot reach ${place}: ${why}`, hint)
  }
  const message = errors.map((error) => error.message).find(Boolean) ?? 'it failed'
  return new CliError(EXIT.no, 'store_failed', `${place} said: ${redact(message)}`)
}

/** An error and those behind it; where no address of a name could be reached, Node has one for each. */
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
    const why = REASONS.get(code)
    if (why) return why
  }
  return errors.some(({ message }) => UNREACHABLE.test(message)) ? 'no answer' : undefined
}
