/** The built module that a thread for inference runs. The build writes one file per module format. Throws without `import.meta.url`. */
export function workerUrl(): URL;
