import { Command } from 'commander'
import { addClientOptions, type ClientOptions, createClient } from '../client.ts'
import { addExamples } from '../help.ts'
import { print, printJson, toTable } from '../output.ts'
import { withProgress } from '../progress.ts'
import {
  type ListedWebhook,
  listWebhooks,
  type ServicePath,
  servicePath,
  text,
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
      else
        print(
          await toTable(
            ['service', 'id', 'name', 'change types', 'active', 'key', 'hookUrl'],
            webhooks.map(toRow),
          ),
        )
    },
  )
}

function toRow({ folderName, serviceName, serviceType, ...webhook }: ListedWebhook): string[] {
  const { id, name, changeTypes, active, signatureKey, hookUrl } = webhook
  const service = `${folderName ? `${folderName}/` : ''}${serviceName}.${serviceType}`
  return [
    service,
    id,
    name,
    changeTypes.join(','),
    active === false ? 'no' : 'yes',
    signatureKey ? '***' : 'none',
    hookUrl,
  ].map(text)
}
