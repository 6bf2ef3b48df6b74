import { WebhookError } from '../../../index.ts'
import { whyUnreachable } from '../../../shared/connection-errors.ts'
import { errorChain } from '../../../shared/error-chain.ts'
import { CliError, EXIT, toCliError, usageError } from '../../errors.ts'
import type { Engine, StoreAddress } from './address.ts'

/** The npm packages that each engine requires, as arguments of `npm install`. */
const PACKAGES: Record<Engine, string> = {
  sqlite: 'better-sqlite3',
  postgres: 'pg-boss pg',
  redis: 'bullmq ioredis',
}

/** Converts an error of a store to a CliError. */
export function toStoreError(thrown: unknown, { engine, displayName }: StoreAddress): CliError {
  if (thrown instanceof CliError) return thrown
  const errors = [...errorChain(thrown)]
  if (errors.some(isMissingPackage)) {
    const names = PACKAGES[engine]
    return usageError(
      `the packages of ${engine} are not installed: ${names.replace(' ', ', ')}`,
      `npm install ${names}`,
      'package_missing',
    )
  }
  if (thrown instanceof WebhookError) return toCliError(thrown)
  const why = engine === 'sqlite' ? undefined : whyUnreachable(thrown)
  if (why) {
    const hint = 'Is it running, and is the address right?'
    return new CliError(EXIT.unreachable, 'unreachable', `cannot reach ${displayName}: ${why}`, hint)
  }
  const message = errors.map((error) => error.message).find(Boolean) ?? 'it failed'
  return new CliError(EXIT.failure, 'store_failed', `${displayName} reported: ${message}`)
}

const isMissingPackage = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
