/*
 * Each store loads its packages in the background when it is created. Loading them with the first delivery could be too
 * late: if the process has no free file descriptor, the import fails, and Node 20 never repeats a failed import.
 */

/** Loads ioredis. */
export const loadIoredis = (): Promise<typeof import('ioredis')> => load('ioredis', () => import('ioredis'))

/** Loads BullMQ. */
export const loadBullmq = (): Promise<typeof import('bullmq')> => load('bullmq', () => import('bullmq'))

async function load<Package>(name: string, importPackage: () => Promise<Package>): Promise<Package> {
  try {
    return await importPackage()
  } catch (cause) {
    throw new Error(`geohook/redis cannot load ${name}: npm install bullmq ioredis`, { cause })
  }
}
