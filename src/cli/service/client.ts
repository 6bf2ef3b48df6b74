import { InvalidArgumentError } from 'commander'
import { findError } from '../../shared/client.ts'
import { tryJson } from '../../shared/json.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import { type CliError, failure, usageError } from '../errors.ts'
import { toRecord } from '../io/files.ts'
import { sendRequest } from '../io/http.ts'
import { addCaOption, type CaOptions, type CliCommand, readTrust } from '../options/command.ts'
import { addServiceTokenOptions, readServiceToken, type TokenOptions } from '../options/secrets.ts'
import { httpUrl } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'

export interface ClientOptions extends CaOptions, TokenOptions {
  url?: URL
}

export type ServiceResponse = Record<string, unknown>

/** Timeout in milliseconds. Long, because a trigger request waits for all its deliveries, schedules and retries. */
const TIMEOUT = 10 * 60_000
const MAX_RESPONSE = 64 * 1024 * 1024

const DEFAULT_URL = 'http://127.0.0.1:4000'

export function addClientOptions(command: CliCommand): void {
  command
    .option('--url <url>', `base address of the service (default: GEOHOOK_URL, or ${DEFAULT_URL})`, httpUrl)
    .with(addCaOption)
    .with(addServiceTokenOptions)
    .option('--json', 'print JSON')
}

/** A service, written as `[folder/]<name>.<type>` on the command line. */
export interface ServicePath {
  folderName: string
  serviceName: string
  serviceType: 'FeatureServer' | 'GPServer'
}

export function servicePath(value: string): ServicePath {
  const [, folderName = '', serviceName = '', type] =
    /^(?:([^/]+)\/)?([^/]+)\.(FeatureServer|GPServer)$/.exec(value) ?? []
  if (type) return { folderName, serviceName, serviceType: type as ServicePath['serviceType'] }
  throw new InvalidArgumentError('must be written like Parcels.FeatureServer or folder/Analysis.GPServer')
}

/** Returns the folder and the name of a service for a URL. */
export const toUrlPath = ({ folderName, serviceName }: ServicePath): string =>
  (folderName ? [folderName, serviceName] : [serviceName]).map(encodeURIComponent).join('/')

/** Client for feature services, and for the control API of a mock service. Printing redacts responses. */
export class ServiceClient {
  readonly #target: { url: URL; token: string | undefined; trust: Trust }

  constructor(target: { url: URL; token: string | undefined; trust: Trust }) {
    this.#target = target
  }

  get(path: string, parameters: Record<string, string> = {}): Promise<ServiceResponse> {
    return this.#request('GET', `${path}?${new URLSearchParams({ f: 'json', ...parameters })}`)
  }

  /** Posts a form. Some services read the token only from it. */
  postForm(path: string, form: Record<string, string> = {}): Promise<ServiceResponse> {
    const { token } = this.#target
    const body = new URLSearchParams({ ...form, ...(token ? { token } : {}), f: 'json' }).toString()
    return this.#request('POST', path, 'application/x-www-form-urlencoded', body)
  }

  postJson(path: string, body: object): Promise<ServiceResponse> {
    return this.#request('POST', path, 'application/json', JSON.stringify(body))
  }

  delete(path: string): Promise<ServiceResponse> {
    return this.#request('DELETE', path)
  }

  async #request(method: string, path: string, contentType = '', body = ''): Promise<ServiceResponse> {
    const { url, token, trust } = this.#target
    const headers: [string, string][] = [['accept', 'application/json']]
    if (token) headers.push(['authorization', `Bearer ${token}`])
    if (contentType) headers.push(['content-type', contentType])
    let base = url.href
    while (base.endsWith('/')) base = base.slice(0, -1)
    const target = new URL(base + path)
    const limits = { timeout: TIMEOUT, limit: MAX_RESPONSE, trust }
    const response = await sendRequest(target, { method, headers, body: Buffer.from(body) }, limits)
    return parseResponse(response.status, response.body.toString(), target)
  }
}

/**
 * Calls a service, and reports the progress.
 *
 * @throws {CliError} exit code 2 for an invalid token or URL
 */
export async function withClient<T>(
  io: Io,
  options: ClientOptions,
  call: (client: ServiceClient) => Promise<T>,
  progress?: string,
): Promise<T> {
  const url = readUrl(io, options)
  const token = await readServiceToken(io, options)
  const client = new ServiceClient({ url, token, trust: await readTrust(io, options) })
  return io.withProgress(progress ?? `asking ${url.origin}`, () => call(client))
}

/** Reads the base address. @throws {CliError} exit code 2 */
export function readUrl(io: Io, options: ClientOptions): URL {
  const url = options.url ?? urlInEnvironment(io)
  if (url.search || url.hash)
    throw usageError('--url has a query or a fragment', 'Give only the base address.')
  return url
}

function urlInEnvironment({ host }: Io): URL {
  try {
    return httpUrl(host.env.GEOHOOK_URL ?? DEFAULT_URL)
  } catch {
    const problem = 'GEOHOOK_URL is not a URL that begins with http:// or https://'
    throw usageError(problem, 'Set it, or give --url.')
  }
}

/** Parses a response. Also looks for errors in the body, because some services report them with HTTP status 200. */
function parseResponse(status: number, text: string, { origin, pathname }: URL): ServiceResponse {
  const response = toRecord(tryJson(text))
  if (!response) throw notAService(`the response from ${origin} (${status}) is not that of a webhook service`)
  const error = findError(response, false)
  if (!error && response.success !== false && status < 400) return response
  const code = error?.code || status
  const message = `the service answered ${code} for ${pathname}: ${error?.message ?? 'no reason given'}`
  throw failure(`service_${code}`, message, HINTS[code])
}

const HINTS: Readonly<Record<number, string>> = {
  401: 'Give a token with --token-file or --token-env.',
  403: 'The user of the token must be allowed to administer this service.',
  404: '"geohook list" shows the webhooks.',
  498: 'The token is invalid or has expired: get a new one.',
  499: 'The service requires a token: give it with --token-file or --token-env.',
}

/** Creates the error for a response that does not come from a webhook service. */
export const notAService = (message: string): CliError =>
  failure(
    'no_service',
    message,
    'Check that this is the base address of the service. "geohook mock" starts a mock service.',
  )
