import { Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { toTable } from '../terminal/table.ts'
import { addClientOptions, type ClientOptions, createClient } from './client.ts'
import {
  listWebhooks,
  redactKeys,
  type ServicePath,
  servicePath,
  toWebhookRow,
  WEBHOOK_COLUMNS,
} from './webhooks.ts'

export function createListCommand(io: Io): Command {
  const command = new Command('list')
    .summary('list the webhooks of a service, or of all services')
    .description('Lists webhooks. Keys are shown as ***.')
    .argument('[service]', 'for example Parcels.FeatureServer or folder/Analysis.GPServer', servicePath)
  addClientOptions(command)
  addExamples(command, ['geohook list', 'geohook list Parcels.FeatureServer --json'])
  return command.action(async (service: ServicePath | undefined, options: ClientOptions) => {
    const client = await createClient(io, options)
    const webhooks = await io.withProgress(`asking ${client.origin}`, () => listWebhooks(io, client, service))
    if (io.json) io.printJson(redactKeys({ webhooks }))
    else if (webhooks.length === 0) io.print('there are no webhooks')
    else io.print(await toTable(io, WEBHOOK_COLUMNS, webhooks.map(toWebhookRow)))
  })
}
