import { configInvalid } from '../../errors.ts'

/** Where Redis is. */
export interface RedisOptions {
  /** `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS. */
  url: string
  /** What every key begins with. On a cluster it needs braces, so that all keys are in one slot: `{geohook}`. Default `geohook`. */
  prefix?: string | undefined
}

/**
 * Never quotes the URL: there may be a password in it.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readRedisOptions({ url, prefix = 'geohook' }: RedisOptions): { url: string; prefix: string } {
  if (typeof url !== 'string' || !isRedisUrl(url)) throw configInvalid('url must be a redis: or rediss: URL')
  return { url, prefix: readName('prefix', prefix) }
}

/** @throws {WebhookError} `config_invalid` */
export function readName(name: string, value: string): string {
  if (typeof value === 'string' && /^[^\p{Cc}]{1,200}$/u.test(value)) return value
  throw configInvalid(`${name} must be 1 to 200 characters`)
}

function isRedisUrl(text: string): boolean {
  try {
    const { protocol, username, password } = new URL(text)
    // ioredis decodes them, and would throw only when it connects.
    decodeURIComponent(username + password)
    return protocol === 'redis:' || protocol === 'rediss:'
  } catch {
    return false
  }
}
