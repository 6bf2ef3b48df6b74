import { Command } from 'commander'
import { CliError, usageError } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import { colours, count, print, printJson } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { addClientOptions, type ClientOptions, createClient } from './client.ts'
import {
  findWebhook,
  listWebhooks,
  type ServicePath,
  servicePath,
  toPrintable,
  webhooksPath,
} from './webhooks.ts'

interface Options extends ClientOptions {
  all?: true
  json?: true
}

export function createDeleteCommand(): Command {
  const command = new Command('delete')
    .summary('delete webhooks')
    .description('Deletes webhooks permanently. If one of them does not exist, none is deleted.')
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument('[webhooks...]', 'ids or names of the webhooks')
    .option('--all', 'delete all webhooks of the service')
  addClientOptions(command).option('--json', 'print JSON')
  addExamples(command, [
    "geohook delete Parcels.FeatureServer 'parcel edits'",
    'geohook delete Parcels.FeatureServer --all',
  ])
  return command.action(async (service: ServicePath, names: string[], options: Options) => {
    if (options.all ? names.length > 0 : names.length === 0) {
      throw usageError('give either the webhooks to delete or --all', '"geohook list" shows the webhooks.')
    }
    const client = await createClient(options)
    const path = webhooksPath(service)
    const deleted = await withProgress(`asking ${options.url.origin}`, options.json === true, async () => {
      const webhooks = await listWebhooks(client, service)
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
    if (options.json) return printJson({ deleted: deleted.map(({ id }) => id) })
    for (const { id, name } of deleted)
      print(`${colours.green('deleted')} ${toPrintable(name)} (${toPrintable(id)})`)
    if (options.all) print(count(deleted.length, 'webhook'))
  })
}
