import { Command } from 'commander'
import { addClientOptions, type ClientOptions, createClient } from '../client.ts'
import { addExamples } from '../help.ts'
import { print, printJson, toTable } from '../output.ts'
import { withProgress } from '../progress.ts'
import {
  listWebhooks,
  type ServicePath,
  servicePath,
  toRow,
  WEBHOOK_COLUMNS,
  withoutKeys,
} from '../webhooks.ts'

/** `geohook list`: the webhooks of a service, or of all. */
export function createListCommand(): Command {
  const command = new Command('list')
    .summary('list the webhooks of a service, or of all services')
    .description('Lists webhooks. A key is shown as ***.')
    .argument('[service]', 'for example Parcels.FeatureServer or folder/Analysis.GPServer', servicePath)
  addClientOptions(command).option('--json', 'print JSON')
  addExamples(command, ['geohook list', 'geohook list Parcels.FeatureServer --json'])
  return command.action(
    async (service: ServicePath | undefined, options: ClientOptions & { json?: true }) => {
      const client = await createClient(options)
      const webhooks = await withProgress(`asking ${options.url.origin}`, options.json === true, () =>
        listWebhooks(client, service),
      )
      if (options.json) printJson(withoutKeys({ webhooks }))
      else if (webhooks.length === 0) print('there are no webhooks')
      else print(await toTable(WEBHOOK_COLUMNS, webhooks.map(toRow)))
    },
  )
}
