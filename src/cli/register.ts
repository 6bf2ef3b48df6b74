import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import type { AdminError, Webhooks } from '../admin/index.ts'
import { isLoopback } from '../shared/loopback.ts'
import { count } from '../shared/words.ts'
import { EXIT, failure, usageError } from './errors.ts'
import { createListenCommand, type ListenOptions, listen } from './listen/listen.ts'
import { requireOthers } from './options/command.ts'
import { hasKeyOption } from './options/secrets.ts'
import { collect, httpUrl } from './options/values.ts'
import { readUrl } from './service/client.ts'
import { type AdminCliOptions, addAdminOptions, toAdminError, withAdmin } from './service/connect.ts'
import { temporarySince } from './service/verdicts.ts'
import { place, toList, webhooksOf } from './service/webhooks.ts'
import { type Io, toPrintable } from './terminal/io.ts'

interface RegisterOptions extends ListenOptions, AdminCliOptions {
  publicUrl?: URL
  changeTypes?: string[]
}

/** Adds temporary webhooks to `listen`. Not in its folder, because families of commands do not import each other. */
export const createRegisteringListenCommand = (io: Io): Command =>
  createListenCommand()
    .option('--register <service>', 'create a temporary webhook, and delete it at the end', place)
    .option('--public-url <url>', 'with --register: https URL of a tunnel to this listener', httpUrl)
    .option('--change-types <names>', 'with --register: change types that trigger it (default: *)', collect)
    .option('--cleanup <service>', 'delete all temporary webhooks of this service, and exit', place)
    .with(addAdminOptions)
    .action(async (options: RegisterOptions, command: Command) => {
      const { register, cleanup } = options
      const others = cleanup ? [] : (['url', 'product', 'portal', 'username', 'clientId'] as const)
      const names = ['publicUrl', 'changeTypes', ...others] as const
      requireOthers(
        options,
        names.map((name) => [name, 'register']),
      )
      if (register && cleanup) throw usageError('give either --register or --cleanup')
      if (!register && !cleanup) return listen(io, options)
      if (hasKeyOption(options)) throw usageError('a temporary webhook has a key of its own', 'Give no key.')
      await administer(io, options, command.getOptionValueSource('profile') === 'default')
    })

async function administer(io: Io, options: RegisterOptions, isByProduct: boolean): Promise<void> {
  const { register, cleanup = '', publicUrl, portal, changeTypes = ['*'] } = options
  const service = register ?? cleanup
  const server = (service === 'portal' && portal) || readUrl(io, options)
  if (register && (publicUrl ? publicUrl.protocol !== 'https:' : !isLoopback(server.hostname)))
    throw usageError(
      '--register requires a --public-url with https',
      'Give the URL of a tunnel to this listener.',
    )
  const report = (event: object, text: string): void => (io.json ? io.printEvent(event) : io.print(text))

  /** Deletes the temporary webhooks whose name begins with `prefix`. Returns their number. */
  async function deleteTemporary(webhooks: Webhooks, prefix: string): Promise<number> {
    const all = await toList(webhooks.list())
    const found = all.filter(({ name }) => isTemporary(name, prefix))
    for (const { id, name } of found) {
      await webhooks.delete(id)
      const note = ['', name].includes(prefix) ? '' : ', which an earlier run had left'
      report({ event: 'deleted', name }, `deleted ${name}${note}`)
    }
    return found.length
  }

  await withAdmin(io, options, async (admin, { progress }) => {
    const webhooks = webhooksOf(admin, service)
    const listed = await toList(webhooks.list())
    progress.stop()
    if (!register) {
      const deleted = await deleteTemporary(webhooks, '')
      return io.json ? undefined : io.print(count(deleted, 'temporary webhook'))
    }
    const prefix = prefixOf(io)
    const name = prefix + new Date().toISOString().replace(/\W/g, '').toLowerCase()
    const all = listed.filter(({ name: other }) => !isTemporary(other, prefix)).length
    // The documentation of ArcGIS Online gives two limits (docs/senders.md, "Hosted feature services").
    const limits = admin.product === 'online' && service !== 'portal' ? [5, 10] : []
    const placesLeft = limits.map((limit) => Math.max(0, limit - all))
    const places = `ArcGIS Online allows 5 or 10, so ${placesLeft.join(' or ')} places are left`
    const limit = limits.length > 0 ? places : 'no limit is known'
    const lines = [`${toPrintable(service)} has ${count(all, 'webhook')}; ${limit}`]
    if (service.endsWith('.FeatureServer')) lines.push('events arrive when the window of the schedule ends')
    if (publicUrl)
      lines.push(`payloads go to ${publicUrl.host}, even if that host name later belongs to someone else`)
    const host = publicUrl?.host
    report({ event: 'registering', service, name, webhooks: all, placesLeft, host }, lines.join('\n'))
    const key = randomBytes(32).toString('hex')
    io.keepSecret(key)
    const ofProduct = service === 'portal' ? 'portal' : admin.product === 'service' ? 'service' : 'arcgis'
    const profile = isByProduct ? ofProduct : options.profile
    let state: 'absent' | 'created' | 'uncertain' = 'absent'
    await listen(
      io,
      { ...options, profile },
      {
        key,
        async create(url) {
          // Only now, because a listener that cannot start must not end another one.
          await deleteTemporary(webhooks, prefix)
          const types = changeTypes.flatMap((names) => names.split(','))
          const webhook = { name, hookUrl: publicUrl?.href ?? url, changeTypes: types, key, active: true }
          await webhooks.create(webhook).catch((error: AdminError) => {
            if (error.code === 'admin_unknown') state = 'uncertain'
            throw error
          })
          state = 'created'
          report({ event: 'registered', name }, `registered ${name}`)
        },
        async delete() {
          try {
            const found = await io.withProgress(`deleting ${name}`, () => deleteTemporary(webhooks, name))
            if (found > 0 || state === 'absent') return
            throw failure(
              '',
              state === 'created' ? 'it was already deleted' : 'the service may still create it',
            )
          } catch (error) {
            const given = (['url', 'product', 'portal'] as const).filter((option) => options[option])
            const address = given.map((option) => ` --${option} ${options[option]}`).join('')
            const hint = `Delete it with the same sign-in options: geohook delete '${service}' ${name}${address}`
            const message = `cannot delete the webhook ${name}: ${toAdminError(error).message}`
            io.printError({ code: 'webhook_left', message, hint })
            io.exitCode = EXIT.failure
          }
        },
      },
    )
  })
}

const isTemporary = (name: string, prefix: string): boolean =>
  temporarySince(name) !== undefined && name.startsWith(prefix)

/** The names of the temporary webhooks of this user on this machine begin with it. */
const prefixOf = ({ host: { env } }: Io): string =>
  `geohook-listen-${toPart(env.USER ?? env.USERNAME ?? 'user')}-${toPart(hostname())}-`

/** Keeps some letters and digits. The hash keeps texts apart that would become equal. */
function toPart(text: string): string {
  const part = text
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .slice(0, 12)
  return part === text ? part : part + createHash('sha256').update(text).digest('hex').slice(0, 6)
}
