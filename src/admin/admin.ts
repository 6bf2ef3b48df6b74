import { blameCaller, configInvalid } from '../errors.ts'
import {
  checkOptions,
  describeMissing,
  isFilledText,
  isFunction,
  milliseconds,
  type OptionNames,
  oneOf,
  requireValue,
} from '../options.ts'
import { REFERER } from '../shared/client.ts'
import { isObject } from '../shared/json.ts'
import { readToken, type Tokens } from '../shared/tokens.ts'
import { type Address, readAddress, requireSecure } from './address.ts'
import { Requester, toTokenError } from './request.ts'
import { editSettings, readSettings } from './settings.ts'
import type { Admin, AdminOptions, ServiceWebhook, Webhook } from './types.ts'
import {
  MAX_PAGES,
  malformed,
  pathOfPortal,
  toWebhooks,
  webhooksOfPortal,
  webhooksOfService,
} from './webhooks.ts'

const NAMES: OptionNames<AdminOptions> = {
  url: true,
  token: true,
  product: oneOf('service', 'enterprise', 'online', 'portal'),
  portal: true,
  referer: REFERER,
  timeout: milliseconds(1000),
  fetch: isFunction,
}

/**
 * Creates a client for the administration of webhooks. It sends no request before a method is called.
 *
 * @throws {WebhookError} `config_invalid`
 *
 * @example
 * ```ts
 * import { createAdmin, signIn } from 'geohook/admin'
 *
 * const admin = createAdmin({
 *   url: 'https://gis.example.com/server',
 *   token: await signIn({ portal: 'https://gis.example.com/portal', username: 'kim', password: '…' }),
 * })
 * for await (const webhook of admin.list()) console.log(webhook.service, webhook.name, webhook.active)
 * ```
 */
export function createAdmin(options: AdminOptions): Admin {
  return blameCaller(createAdmin, () => create(options))
}

function create(options: AdminOptions): Admin {
  const { url, token, product, portal, referer, timeout = 60_000, fetch } = checkOptions(options, NAMES)
  // An unset environment variable must not mean "without a token".
  if (token === undefined && Object.hasOwn(options, 'token'))
    throw configInvalid(describeMissing('token', token))
  const signedIn = isObject(token) && typeof token.referer === 'string' ? token.referer : undefined
  // The source of a token can quote one that a service has rejected.
  const tokens: Tokens = readToken(token, (error) => toTokenError(error, tokens.known()))
  const connection = { tokens, referer: referer ?? signedIn, fetch, timeout }

  function connect(address: Address): Requester {
    if (token !== undefined) requireSecure(address, 'token')
    return new Requester(address, connection)
  }

  const server = connect(readAddress('url', url, product))
  const { product: found, base, service: defaultService } = server.address
  const given = portal === undefined ? undefined : connect(readAddress('portal', portal, 'portal'))

  /** @throws {WebhookError} `admin_unsupported` */
  function requirePortal(): Requester {
    if (given) return given
    if (found === 'portal') return server
    throw server.error(
      'admin_unsupported',
      'this needs the portal that the server belongs to',
      'Give its address in the option portal.',
    )
  }

  return {
    product: found,
    url: base,
    defaultService,
    list(options = {}) {
      const { owner } = checkOptions(options, { owner: isFilledText })
      if (owner !== undefined && found !== 'online')
        throw server.error('admin_unsupported', 'this product cannot list only the webhooks of one owner')
      if (found === 'portal') return webhooksOfPortal(server).list()
      return found === 'online' ? listOrganization(server, owner) : listSite(server)
    },
    listServiceWebhooks: (options = {}) =>
      listServiceWebhooks(requirePortal(), checkOptions(options, { owner: isFilledText }).owner),
    service(name = defaultService) {
      if (name === undefined) throw configInvalid('service(): the name of a service is missing')
      return webhooksOfService(server, name)
    },
    portal: () => webhooksOfPortal(requirePortal()),
    settings: () => readSettings(server),
    editSettings: (changes) => server.oneByOne(() => editSettings(server, changes)),
    takeOver: (options) => server.oneByOne(async () => takeOver(server, options?.from)),
  }
}

async function* listSite(requester: Requester): AsyncGenerator<Webhook> {
  yield* toWebhooks(requester, await requester.read('/services/webhooks'), '')
}

/** If there are more webhooks, the response is an array of one object with the list, otherwise the list. */
async function* listOrganization(requester: Requester, owner?: string): AsyncGenerator<Webhook> {
  for (let offset = 0, pages = 0; ; pages++) {
    if (pages === MAX_PAGES) throw malformed(requester, 'the end of the list')
    const paging = { resultOffset: String(offset), resultRecordCount: '100' }
    const answer = await requester.read(
      '/WebHooks',
      owner === undefined ? paging : { ...paging, user: owner },
    )
    const first: unknown = Array.isArray(answer) ? answer[0] : answer
    const page = isObject(first) && 'webhooks' in first ? first : undefined
    const webhooks = toWebhooks(requester, page ?? answer, '')
    yield* webhooks
    offset += webhooks.length
    // The documentation spells it in two ways.
    const hasMore = String(page?.exceededTransferLimit ?? page?.exceedTransferLimit) === 'true'
    if (!hasMore) return
    if (webhooks.length === 0) throw malformed(requester, 'the rest of the list')
  }
}

async function* listServiceWebhooks(requester: Requester, owner?: string): AsyncGenerator<ServiceWebhook> {
  const path = `${await pathOfPortal(requester)}/listServiceWebhooks`
  // The documentation spells it in two ways.
  const answer = await requester.read(path, owner === undefined ? {} : { userName: owner, username: owner })
  yield* toWebhooks(requester, answer, '', 'enterprise') as ServiceWebhook[]
}

async function takeOver(requester: Requester, from: string): Promise<void> {
  if (requester.address.product !== 'online')
    throw requester.error('admin_unsupported', 'this product cannot change the owner of webhooks')
  requireValue('takeOver: from', from, isFilledText)
  const isMade = async (): Promise<boolean> => {
    for await (const { owner } of listOrganization(requester, from)) if (owner === from) return false
    return true
  }
  await requester.change('/WebHooks/reassignOwner', { ownerFrom: from }, isMade, true)
}
