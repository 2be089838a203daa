/** Loads modules of the program by their path below `src/`, as the catalogue names them. */

/** Loads a module. The bundle replaces this file by a table of modules. */
export const moduleAt = async (path: string): Promise<object> =>
  (await import(new URL(path, import.meta.url).href)) as object
