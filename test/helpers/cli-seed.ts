import { createFolder } from './cli.ts'
import { KEY } from './deliver.ts'

/** Returns a seed with the webhook `w0` on Parcels.FeatureServer and a webhook on Jobs/Analysis.GPServer. */
export const seedFor = (hookUrl: string): object => ({
  webhooks: [
    {
      serviceName: 'Parcels',
      serviceType: 'FeatureServer',
      id: 'w0',
      name: 'edits 0',
      changeTypes: ['FeaturesCreated'],
      hookUrl,
      signatureKey: KEY,
    },
    {
      folderName: 'Jobs',
      serviceName: 'Analysis',
      serviceType: 'GPServer',
      name: 'jobs',
      hookUrl,
      signatureKey: KEY,
    },
  ],
  settings: { notificationAttempts: 1 },
})

/** Creates a folder for one test file. The returned function writes a value to a JSON file, and returns the path. */
export function useJsonFiles(): (value: unknown) => string {
  const folder = createFolder()
  let count = 0
  return (value) => folder.file(`${++count}.json`, JSON.stringify(value))
}
