import { Command } from 'commander'
import { httpUrl } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { printJson } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { addClientOptions, type ClientOptions, createClient } from './client.ts'
import { addWebhookOptions, readWebhookOptions, type WebhookOptions } from './webhook-options.ts'
import { printWebhook, redactKeys, type ServicePath, servicePath, webhooksPath } from './webhooks.ts'

export function createCreateCommand(): Command {
  const command = new Command('create')
    .summary('create a webhook')
    .description(
      'Creates a webhook on a service. Without --change-types it fires for every event. ' +
        'It gets a key only where a key option is given; SIGNATURE_KEY alone gives it none.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .requiredOption('--name <text>', 'its name, which no other webhook of the service has')
    .requiredOption('--hook-url <url>', 'its payload URL', httpUrl)
  addClientOptions(
    addWebhookOptions(command, 'its triggers, with commas between them; repeat it for more (default: *)'),
  ).option('--json', 'print JSON')
  addExamples(command, [
    'geohook create Parcels.FeatureServer --name edits --hook-url http://127.0.0.1:3000/ --key-file key.txt',
    'geohook create Analysis.GPServer --name jobs --hook-url http://127.0.0.1:3000/jobs',
  ])
  return command.action(
    async (service: ServicePath, options: ClientOptions & WebhookOptions & { json?: true }) => {
      const parameters = await readWebhookOptions(options)
      const client = await createClient(options)
      const created = await withProgress(`asking ${options.url.origin}`, options.json === true, () =>
        client.postForm(`${webhooksPath(service)}/create`, parameters),
      )
      if (options.json) printJson(redactKeys(created))
      else printWebhook('created', created, 'signatureKey' in parameters ? 'set' : 'none')
    },
  )
}
