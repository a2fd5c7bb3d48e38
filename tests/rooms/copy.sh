# Sourced by the tests here: a copy of the tree in a private folder, which is removed at the end.
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # as a hook of git sets them
private=$(mktemp -d)
private=$(cd "$private" && pwd -P)
copy=$private/tree
trap 'cd / && rm -rf "$private"' EXIT

fail() {
	echo "failed: $*" >&2
	exit 1
}

# copy_tree PATH...: the copy holds these, as they are now, and is the working folder.
copy_tree() {
	mkdir "$copy"
	cd "$source_folder"
	cp -a "$@" "$copy"
	cd "$copy"
	git -c init.defaultBranch=main init --quiet
	echo /build/ >.gitignore
}
