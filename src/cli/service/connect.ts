import type { Admin, AdminError, SignIn, SignInOptions } from '../../admin/index.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import { CliError, toCliError, usageError } from '../errors.ts'
import { createFetch } from '../io/http.ts'
import { type CliCommand, readTrust, toFlag } from '../options/command.ts'
import {
  addSecretOptions,
  readSecret,
  readServiceToken,
  type SecretKind,
  toText,
} from '../options/secrets.ts'
import { httpUrl } from '../options/values.ts'
import type { Io, Progress } from '../terminal/io.ts'
import { addClientOptions, type ClientOptions, readUrl } from './client.ts'

export interface AdminCliOptions extends ClientOptions {
  portal?: URL
  product?: Admin['product']
  referer?: string
  username?: string
  clientId?: string
  showUrls?: true
}

const PRODUCTS: readonly Admin['product'][] = ['service', 'enterprise', 'online', 'portal']
const PASSWORD: SecretKind = { option: 'password', noun: 'password of the user', noText: true }
const CLIENT_SECRET: SecretKind = { option: 'client-secret', noun: 'secret of the application', noText: true }

/** Adds the options of the commands that administer webhooks. */
export function addAdminOptions(command: CliCommand): void {
  command
    .with(addClientOptions)
    .choice('--product <name>', 'product at --url; default: derived from the URL', PRODUCTS)
    .option(
      '--portal <url>',
      'address of the portal, to sign in or for its webhooks (default: --url, if it is a portal)',
      httpUrl,
    )
    .option('--username <name>', 'user who signs in')
    .with(addSecretOptions(PASSWORD))
    .option('--client-id <id>', 'application that signs in (OAuth 2.0)')
    .with(addSecretOptions(CLIENT_SECRET))
    .option('--referer <referer>', 'referer to which the token is bound, a URL or a host')
    .option('--show-urls', 'show payload URLs with their secret parts; only on a terminal')
}

/** What an {@link Admin} sends its requests with. */
export interface Connection {
  fetch: ReturnType<typeof createFetch>['fetch']
  token: string | SignIn | undefined
  referer: string | undefined
  trust: Trust
  progress: Progress
  /** Why the last request got no response. */
  failure(): CliError | undefined
}

/** Maximum size of a response in bytes. */
const LIMIT = 16 * 1024 * 1024

/**
 * Calls the administration of a service, and reports the progress.
 *
 * @param stop ends the requests in flight
 * @throws {CliError} exit code 2 for invalid options, 3 if the service is unreachable
 */
export async function withAdmin<Result>(
  io: Io,
  options: AdminCliOptions,
  call: (admin: Admin, connection: Connection) => Promise<Result>,
  stop?: AbortSignal,
): Promise<Result> {
  const { product, portal, referer, showUrls } = options
  if (showUrls && io.host.stdout.isTTY !== true)
    throw usageError('--show-urls works only on a terminal', 'Payload URLs can contain secrets.')
  const url = readUrl(io, options)
  const token = await readServiceToken(io, options)
  const credentials = await readCredentials(io, options)
  const trust = await readTrust(io, options)
  const client = createFetch(trust, LIMIT)
  const { createAdmin, signIn } = await import('../../admin/index.ts')
  return io.withProgress(`asking ${url.origin}`, async (progress) => {
    const fetch: Connection['fetch'] = (target, init) => {
      progress.update(`asking ${target.origin}`)
      const signals = [init.signal, stop].filter((signal) => signal instanceof AbortSignal)
      return client.fetch(target, { ...init, signal: AbortSignal.any(signals) })
    }
    try {
      const source = credentials ? await signIn({ ...credentials, fetch }) : token
      const given = source === undefined ? {} : { token: source }
      const admin = createAdmin({ url: url.href, portal: portal?.href, product, referer, fetch, ...given })
      const bound = typeof source === 'object' ? source.referer : referer
      return await call(admin, {
        fetch,
        token: source,
        referer: bound,
        trust,
        progress,
        failure: client.failure,
      })
    } catch (error) {
      throw toAdminError(error, client.failure())
    }
  })
}

/** Reads the credentials to sign in with; undefined without any. @throws {CliError} exit code 2 */
async function readCredentials(io: Io, options: AdminCliOptions): Promise<SignInOptions | undefined> {
  const { username, clientId, referer, portal } = options
  const password = await readSecret(io, PASSWORD, options)
  const clientSecret = await readSecret(io, CLIENT_SECRET, options)
  const isUser = username !== undefined || password !== undefined
  const isApp = clientId !== undefined || clientSecret !== undefined
  const common = { portal: String(portal), referer }
  if (!isUser && !isApp) return undefined
  if (portal && username !== undefined && password && !isApp)
    return { ...common, username, password: toText(password, 'password') }
  if (portal && clientId !== undefined && clientSecret && !isUser)
    return { ...common, clientId, clientSecret: toText(clientSecret, 'client-secret') }
  throw usageError(
    'signing in requires --portal, and either --username and a password or --client-id and a secret',
    'Give the secret with --password-file, --password-env, --client-secret-file or --client-secret-env.',
  )
}

/** @param failure why the last request got no response */
export function toAdminError(error: unknown, failure?: CliError): CliError {
  const { exitCode, code, message, hint } = toCliError(error)
  const { serviceCode, different = [] } = error as Partial<AdminError>
  if (code === 'admin_unavailable' && serviceCode === undefined && failure) return failure
  const values = different.map((one) => `${one.member}: requested ${one.requested}, stored ${one.stored}. `)
  const [, missing = code] = /^edit: (key|active) is missing/.exec(message) ?? []
  // The library names its own options.
  const given = code === 'config_invalid' ? message.replace(/^\w+(?= must )/, toFlag) : message
  const advice = hint.replace('the option portal', '--portal').replace('as url', 'as --url')
  // An error of the command itself has a hint that fits better.
  const own = error instanceof CliError ? hint : ''
  return new CliError(exitCode, code, given, values.join('') + (own || (HINTS.get(missing) ?? advice)))
}

/** By code, or by the member that the service does not show. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['key', 'Give the current or a new key with --key-file or --key-env, or --no-key if the webhook has none.'],
  ['active', 'Give it with --active.'],
  [
    'admin_unauthorized',
    'Give a valid token with --token-file or --token-env, or sign in with --portal, --username and --password-file.',
  ],
  ['admin_not_found', 'Check the address and the names: "geohook list" shows the webhooks.'],
  ['admin_unavailable', 'Check the address, or try again later.'],
  [
    'admin_malformed',
    'Check that this is the address of the service, and that no login page responds in its place.',
  ],
])
