import type { Command } from 'commander'
import type { Admin, Webhook, Webhooks } from '../../admin/index.ts'
import type { Json } from '../../shared/json.ts'
import { count } from '../../shared/words.ts'
import { failure, usageError } from '../errors.ts'
import { CliCommand } from '../options/command.ts'
import { addNewKeyOptions, type NewKeyOptions, readNewKey } from '../options/secrets.ts'
import { type Io, toPrintable } from '../terminal/io.ts'
import { servicePath } from './client.ts'
import { type AdminCliOptions, addAdminOptions, type Connection, withAdmin } from './connect.ts'

/** Parses the argument that says whose webhooks are meant: the name of a service, or `portal`. */
export function place(value: string): string {
  if (value !== 'portal') servicePath(value)
  return value
}

export const webhooksOf = (admin: Admin, name: string): Webhooks =>
  name === 'portal' ? admin.portal() : admin.service(name)

/** Returns webhooks as they may be printed. From then on, all output hides their keys. */
export async function toShown(
  io: Io,
  webhooks: readonly Webhook[],
  { showUrls }: AdminCliOptions,
): Promise<Json[]> {
  const { showWebhook } = await import('../../admin/index.ts')
  return webhooks.map((webhook) => {
    if (webhook.key) io.keepSecret(webhook.key)
    if (showUrls && webhook.hookUrl) io.showUrl(webhook.hookUrl)
    return showWebhook(webhook, showUrls)
  })
}

/** Formats the value of a member. */
export const toText = (value: unknown): string =>
  value === undefined ? 'not shown' : value === '' ? 'none' : toPrintable(value)

export async function toList(webhooks: AsyncIterable<Webhook>): Promise<Webhook[]> {
  const list: Webhook[] = []
  for await (const webhook of webhooks) list.push(webhook)
  return list
}

const COLUMNS = ['service', 'id', 'name', 'change types', 'active', 'key', 'hookUrl']

function toRow({ service, id, name, changeTypes, active, key, hookUrl }: Json): string[] {
  const isActive = active === undefined ? active : active ? 'yes' : 'no'
  const start = [service || 'portal', id, name].map(toPrintable)
  return [...start, ...[changeTypes, isActive, key, hookUrl].map(toText)]
}

interface ListOptions extends AdminCliOptions {
  allServers?: true
}

export function createListCommand(io: Io): Command {
  return new CliCommand('list')
    .summary('list the webhooks of a service, or of all services')
    .description(
      'Lists webhooks: of a service, or of the whole site, organization or portal. Keys and the secret parts of ' +
        'payload URLs are shown as ***.',
    )
    .argument('[service]', 'for example Parcels.FeatureServer or folder/Analysis.GPServer, or portal', place)
    .option(
      '--all-servers',
      'list the webhooks of the services of all servers that belong to the portal (from version 11.3)',
    )
    .with(addAdminOptions)
    .examples('geohook list', 'geohook list Parcels.FeatureServer --json')
    .action(async (service: string | undefined, options: ListOptions) => {
      const { allServers } = options
      if (service !== undefined && allServers) throw usageError('--all-servers cannot be used with a service')
      const webhooks = await withAdmin(io, options, (admin) => {
        if (service !== undefined) return toList(webhooksOf(admin, service).list())
        return toList(allServers ? admin.listServiceWebhooks() : admin.list())
      })
      const shown = await toShown(io, webhooks, options)
      io.printResult({ webhooks: shown }, () => {
        if (shown.length === 0) io.print('there are no webhooks')
        else io.printTable(COLUMNS, shown.map(toRow))
      })
    })
}

interface ManyOptions extends AdminCliOptions, NewKeyOptions {
  all?: true
  yes?: true
}

/** Creates a command that changes several webhooks. It finds all of them before it changes one. */
function createManyCommand(io: Io, name: 'delete' | 'activate' | 'deactivate'): CliCommand {
  const participle = `${name}d`
  return new CliCommand(name)
    .summary(`${name} webhooks`)
    .argument('<service>', 'for example Parcels.FeatureServer, or portal', place)
    .argument('[webhooks...]', 'ids or names of the webhooks')
    .option('--all', `${name} all webhooks of the service or portal`)
    .with(addAdminOptions)
    .action(async (service: string, names: string[], options: ManyOptions) => {
      const { all, yes } = options
      if (all ? names.length > 0 : names.length === 0)
        throw usageError(`give either the webhooks to ${name} or --all`, '"geohook list" shows the webhooks.')
      const asks = name === 'delete' && all && !yes
      if (asks && (io.json || !io.host.stdin.isTTY))
        throw usageError('--all deletes every webhook of the service', 'Confirm it with --yes.')
      const key = await readNewKey(io, options)
      if (key !== undefined && names.length !== 1)
        throw usageError('a key belongs to one webhook', 'Give one webhook, or no key.')
      const done: Webhook[] = []

      async function change(admin: Admin, { progress }: Connection): Promise<void> {
        const webhooks = webhooksOf(admin, service)
        const found = new Map<string, Webhook>()
        if (all) for await (const webhook of webhooks.list()) found.set(webhook.id, webhook)
        for (const idOrName of names) {
          const webhook = await webhooks.get(idOrName)
          found.set(webhook.id, webhook)
        }
        if (all) progress.stop()
        if (asks && found.size > 0) {
          await confirm(io, `Delete ${count(found.size, 'webhook')} of ${service}?`)
          if ((await toList(webhooks.list())).some(({ id }) => !found.has(id)))
            throw failure(
              'admin_conflict',
              'another client has created a webhook meanwhile; nothing was deleted',
            )
        }
        // A portal has no operation for all, so that it can refuse one after it has changed others.
        const isAtOnce = all && service !== 'portal'
        if (isAtOnce && found.size > 0) await webhooks[`${name}All`]()
        for (const webhook of found.values()) {
          if (!isAtOnce) await changeOne(webhooks, webhook)
          done.push(webhook)
        }
      }

      function changeOne(webhooks: Webhooks, webhook: Webhook): Promise<unknown> {
        if (name === 'delete') return webhooks.delete(webhook)
        // A service that shows the key gets it back. An option must not replace it.
        return webhooks[name](webhook, webhook.key === undefined && key !== undefined ? { key } : {})
      }

      const print = (): void =>
        io.printResult({ [participle]: done.map(({ id }) => id) }, () => {
          for (const { name, id } of done)
            io.print(`${io.colours.green(participle)} ${toPrintable(name)} (${toPrintable(id)})`)
          if (all) io.print(count(done.length, 'webhook'))
        })

      await withAdmin(io, options, change).catch((error: unknown) => {
        if (done.length > 0) print()
        throw error
      })
      print()
    })
}

/** Asks on the terminal. @throws {CliError} exit code 1 unless the answer is yes */
export async function confirm(
  { host }: Io,
  question: string,
  refusal = 'nothing was deleted',
): Promise<void> {
  host.stderr.write(`${toPrintable(question)} [y/N] `)
  let answer = ''
  for await (const chunk of host.stdin) {
    answer += Buffer.from(chunk).toString()
    if (answer.includes('\n')) break
  }
  if (!/^y(es)?\s*$/i.test(answer)) throw failure('not_confirmed', refusal)
}

export const createDeleteCommand = (io: Io): Command =>
  createManyCommand(io, 'delete')
    .description(
      'Deletes webhooks permanently. If one of them does not exist, none is deleted. --all asks on a terminal.',
    )
    .option('--yes', 'with --all: delete without asking; required outside a terminal and with --json')
    .examples(
      "geohook delete Parcels.FeatureServer 'parcel edits'",
      'geohook delete Parcels.FeatureServer --all --yes',
    )

export const createActivateCommand = (io: Io): Command => createSwitchCommand(io, 'activate')
export const createDeactivateCommand = (io: Io): Command => createSwitchCommand(io, 'deactivate')

const createSwitchCommand = (io: Io, name: 'activate' | 'deactivate'): Command =>
  createManyCommand(io, name)
    .description(
      `${name === 'activate' ? 'Activates' : 'Deactivates'} webhooks, and keeps their other members. ` +
        'If the service does not show the key of a webhook, give its key, or --no-key; --all needs no keys.',
    )
    .with(addNewKeyOptions)
    .examples(
      `geohook ${name} Parcels.FeatureServer 'parcel edits'`,
      `geohook ${name} Parcels.FeatureServer --all`,
    )

export function createFailuresCommand(io: Io): Command {
  return new CliCommand('failures')
    .summary('list the failed deliveries of a webhook')
    .description(
      'Lists the failed deliveries of a webhook that the service has recorded. A portal records all deliveries.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer, or portal', place)
    .argument('<webhook>', 'id or name of the webhook')
    .with(addAdminOptions)
    .examples("geohook failures Parcels.FeatureServer 'parcel edits'")
    .action(async (service: string, idOrName: string, options: AdminCliOptions) => {
      const deliveries = await withAdmin(io, options, (admin) =>
        webhooksOf(admin, service).failures(idOrName),
      )
      io.printResult({ deliveries }, () => {
        if (deliveries.length === 0) return io.print('no deliveries are recorded')
        const rows = deliveries.map(({ at, isDelivered }) => [at.toISOString(), isDelivered ? 'yes' : 'no'])
        const cells = deliveries.map(({ response = 'not shown' }) => response)
        io.printTable(['time', 'delivered'], rows, { head: 'response', cells })
      })
    })
}
