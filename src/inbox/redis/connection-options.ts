import { configInvalid } from '../../errors.ts'
import { describeMissing } from '../../options.ts'

/** URL of the Redis server and prefix of the keys. */
export interface RedisOptions {
  /**
   * URL of the server: `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS. Default database: 0.
   */
  url: string
  /**
   * Prefix of every key, 1 to 200 characters without control characters. A Redis cluster requires braces, as in
   * `{geohook}`, which keep all keys in one slot. Default `geohook`.
   */
  prefix?: string | undefined
}

const DATABASE = /^\d{1,9}$/

/** Returns the database in a URL, as ioredis reads it. */
export function toDatabase(url: string): string {
  const { pathname, searchParams } = new URL(url)
  return pathname.slice(1) || (searchParams.getAll('db').at(-1) ?? '0')
}

/**
 * Validates the options.
 *
 * @throws {WebhookError} `config_invalid`; its message omits the URL, which may contain a password
 */
export function readRedisOptions(options: RedisOptions): { url: string; prefix: string } {
  const { url, prefix = 'geohook' } = options ?? {}
  if (!url) throw configInvalid(describeMissing('url', url))
  if (typeof url !== 'string' || !isRedisUrl(url)) throw configInvalid('url must be a redis: or rediss: URL')
  if (!DATABASE.test(toDatabase(url)))
    throw configInvalid('the database in the url must be a number, 0 to 999999999')
  return { url, prefix: readName('prefix', prefix) }
}

/** @throws {WebhookError} `config_invalid` */
export function readName(name: string, value: string): string {
  if (typeof value === 'string' && /^[^\p{Cc}]{1,200}$/u.test(value)) return value
  throw configInvalid(`${name} must be 1 to 200 characters, none of them a control character`)
}

function isRedisUrl(text: string): boolean {
  try {
    const { protocol, username, password } = new URL(text)
    // Throws if the percent-encoding is invalid. ioredis would throw only when it connects.
    decodeURIComponent(username + password)
    return protocol === 'redis:' || protocol === 'rediss:'
  } catch {
    return false
  }
}
