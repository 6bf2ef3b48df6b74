import { Command } from 'commander'
import { CliError, usageError } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import { count, type Io } from '../terminal/io.ts'
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
}

export function createDeleteCommand(io: Io): Command {
  const command = new Command('delete')
    .summary('delete webhooks')
    .description('Deletes webhooks permanently. If one of them does not exist, none is deleted.')
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument('[webhooks...]', 'ids or names of the webhooks')
    .option('--all', 'delete all webhooks of the service')
  addClientOptions(command)
  addExamples(command, [
    "geohook delete Parcels.FeatureServer 'parcel edits'",
    'geohook delete Parcels.FeatureServer --all',
  ])
  return command.action(async (service: ServicePath, names: string[], options: Options) => {
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
