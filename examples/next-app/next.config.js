// Without it, Next takes the parent folder for the project where that has a package-lock.json.
export default { turbopack: { root: import.meta.dirname } };
