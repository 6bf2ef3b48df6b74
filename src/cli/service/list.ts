import { Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import { print, printSafe } from '../terminal/output.ts'
import { toPrintableJson } from '../terminal/printable.ts'
import { withProgress } from '../terminal/progress.ts'
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

export function createListCommand(): Command {
  const command = new Command('list')
    .summary('list the webhooks of a service, or of all services')
    .description('Lists webhooks. Keys are shown as ***.')
    .argument('[service]', 'for example Parcels.FeatureServer or folder/Analysis.GPServer', servicePath)
  addClientOptions(command).option('--json', 'print JSON')
  addExamples(command, ['geohook list', 'geohook list Parcels.FeatureServer --json'])
  return command.action(
    async (service: ServicePath | undefined, options: ClientOptions & { json?: true }) => {
      const client = await createClient(options)
      // Formats the output here, so that progress is also reported while a long list is being formatted.
      const output = await withProgress(`asking ${options.url.origin}`, options.json === true, async () => {
        const webhooks = await listWebhooks(client, service)
        if (options.json) return toPrintableJson(redactKeys({ webhooks }), 2)
        return webhooks.length === 0
          ? 'there are no webhooks'
          : toTable(WEBHOOK_COLUMNS, webhooks.map(toWebhookRow))
      })
      options.json ? printSafe(output) : print(output)
    },
  )
}
