import { createFolder } from './cli.ts'
import { KEY } from './deliver.ts'

/** A seed with the webhook `w0` of Parcels.FeatureServer, and one of Jobs/Analysis.GPServer. */
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

/** For one test file: returns a function that writes a JSON file and returns its path. */
export function useJsonFiles(): (value: unknown) => string {
  const folder = createFolder()
  let count = 0
  return (value) => folder.file(`${++count}.json`, JSON.stringify(value))
}
