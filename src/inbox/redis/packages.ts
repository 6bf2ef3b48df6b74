/** Loads ioredis on first use. */
export const loadIoredis = (): Promise<typeof import('ioredis')> => load('ioredis', () => import('ioredis'))

/** Loads BullMQ on first use. */
export const loadBullmq = (): Promise<typeof import('bullmq')> => load('bullmq', () => import('bullmq'))

async function load<Package>(name: string, importPackage: () => Promise<Package>): Promise<Package> {
  try {
    return await importPackage()
  } catch (cause) {
    throw new Error(`geohook/redis cannot load ${name}: npm install bullmq ioredis`, { cause })
  }
}
