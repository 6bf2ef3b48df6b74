import type { Command } from 'commander'
import { count } from '../../shared/words.ts'
import { CliError, usageError } from '../errors.ts'
import { CliCommand } from '../options/command.ts'
import { collect, httpUrl } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import { addClientOptions, type ClientOptions, createClient, type ServiceResponse } from './client.ts'
import {
  addWebhookOptions,
  describeKey,
  findWebhook,
  listWebhooks,
  readWebhookOptions,
  redactKeys,
  type ServicePath,
  servicePath,
  toPrintable,
  toWebhookRow,
  WEBHOOK_COLUMNS,
  type WebhookOptions,
  webhooksPath,
} from './webhooks.ts'

export function createListCommand(io: Io): Command {
  return new CliCommand('list')
    .summary('list the webhooks of a service, or of all services')
    .description('Lists webhooks. Keys are shown as ***.')
    .argument('[service]', 'for example Parcels.FeatureServer or folder/Analysis.GPServer', servicePath)
    .with(addClientOptions)
    .examples('geohook list', 'geohook list Parcels.FeatureServer --json')
    .action(async (service: ServicePath | undefined, options: ClientOptions) => {
      const client = await createClient(io, options)
      const webhooks = await io.withProgress(`asking ${client.origin}`, () =>
        listWebhooks(io, client, service),
      )
      io.printResult(redactKeys({ webhooks }), () => {
        if (webhooks.length === 0) io.print('there are no webhooks')
        else io.printTable(WEBHOOK_COLUMNS, webhooks.map(toWebhookRow))
      })
    })
}

export function createCreateCommand(io: Io): Command {
  return new CliCommand('create')
    .summary('create a webhook')
    .description(
      'Creates a webhook on a service. Without --change-types, every event triggers it. ' +
        'Its key comes only from a key option, not from SIGNATURE_KEY.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .requiredOption('--name <text>', 'name of the webhook, unique within the service')
    .requiredOption('--hook-url <url>', 'payload URL', httpUrl)
    .option(
      '--change-types <names>',
      'change types that trigger it, separated by commas (default: *)',
      collect,
    )
    .with(addWebhookOptions)
    .with(addClientOptions)
    .examples(
      'geohook create Parcels.FeatureServer --name edits --hook-url http://127.0.0.1:3000/ --key-file key.txt',
      'geohook create Analysis.GPServer --name jobs --hook-url http://127.0.0.1:3000/jobs',
    )
    .action(async (service: ServicePath, options: ClientOptions & WebhookOptions) => {
      const parameters = await readWebhookOptions(io, options)
      const client = await createClient(io, options)
      const created = await io.withProgress(`asking ${client.origin}`, () =>
        client.postForm(`${webhooksPath(service)}/create`, parameters),
      )
      io.printResult(redactKeys(created), () => printCreated(io, created))
    })
}

function printCreated(
  io: Io,
  { id, name, hookUrl, changeTypes, active, signatureKey }: ServiceResponse,
): void {
  io.print(`${io.colours.green('created')} ${toPrintable(name)} (${toPrintable(id)})`)
  io.print(`  hookUrl      ${toPrintable(hookUrl)}`)
  io.print(`  changeTypes  ${toPrintable(changeTypes)}`)
  io.print(`  active       ${toPrintable(active)}`)
  io.print(`  key          ${describeKey(signatureKey, 'set')}`)
}

interface Options extends ClientOptions {
  all?: true
}

export function createDeleteCommand(io: Io): Command {
  return new CliCommand('delete')
    .summary('delete webhooks')
    .description('Deletes webhooks permanently. If one of them does not exist, none is deleted.')
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument('[webhooks...]', 'ids or names of the webhooks')
    .option('--all', 'delete all webhooks of the service')
    .with(addClientOptions)
    .examples(
      "geohook delete Parcels.FeatureServer 'parcel edits'",
      'geohook delete Parcels.FeatureServer --all',
    )
    .action(async (service: ServicePath, names: string[], options: Options) => {
      if (options.all ? names.length > 0 : names.length === 0) {
        throw usageError('give either the webhooks to delete or --all', '"geohook list" shows the webhooks.')
      }
      const client = await createClient(io, options)
      const path = webhooksPath(service)
      const deleted = await io.withProgress(`asking ${client.origin}`, async () => {
        const webhooks = await listWebhooks(io, client, service)
        if (options.all) {
          await client.postForm(`${path}/deleteAll`)
          return webhooks
        }
        const found = [...new Set(names.map((name) => findWebhook(webhooks, name)))]
        for (const [index, { id }] of found.entries()) {
          await client.postForm(`${path}/${encodeURIComponent(id)}/delete`).catch((error: unknown) => {
            if (index === 0 || !(error instanceof CliError)) throw error
            const before = found.slice(0, index).map(({ id }) => id)
            const message = `${error.message}; already deleted: ${before.join(', ')}`
            throw new CliError(error.exitCode, error.code, message, error.hint)
          })
        }
        return found
      })
      if (io.json) return io.printJson({ deleted: deleted.map(({ id }) => id) })
      for (const { id, name } of deleted)
        io.print(`${io.colours.green('deleted')} ${toPrintable(name)} (${toPrintable(id)})`)
      if (options.all) io.print(count(deleted.length, 'webhook'))
    })
}
