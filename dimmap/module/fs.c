// SPDX-License-Identifier: GPL-2.0
/* The filesystem: options of a mount, its directory, and the files in it. */
#include <linux/blkdev.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/pagemap.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/statfs.h>
#include <linux/uaccess.h>

#include "dimmap.h"

static struct dimmap_buffer *dimmap_buffer_of(struct super_block *sb)
{
	return sb->s_fs_info;
}

/* ---- options ---- */

enum {
	OPT_SIZE, OPT_NODES, OPT_PLACE, OPT_POLICY, OPT_BATCH, OPT_FILL, OPT_POOLS, OPT_DIRTY_BG,
	OPT_DIRTY_MAX, OPT_TLB, OPT_UID, OPT_GID, OPT_MODE, OPT_SRC,
};

static const struct constant_table dimmap_places[] = { { "interleave", 0 }, { "local", 1 }, {} };
static const struct constant_table dimmap_tlbs[] = {
	{ "batch", DIMMAP_TLB_BATCH }, { "zap", DIMMAP_TLB_ZAP }, {}
};

static const struct fs_parameter_spec dimmap_parameters[] = {
	fsparam_string("size", OPT_SIZE),
	fsparam_string("nodes", OPT_NODES),
	fsparam_enum("place", OPT_PLACE, dimmap_places),
	fsparam_string("policy", OPT_POLICY),
	fsparam_u32("batch", OPT_BATCH),
	fsparam_string("fill", OPT_FILL),
	fsparam_u32("pools", OPT_POOLS),
	fsparam_u32("dirty_bg", OPT_DIRTY_BG),
	fsparam_u32("dirty_max", OPT_DIRTY_MAX),
	fsparam_enum("tlb", OPT_TLB, dimmap_tlbs),
	fsparam_u32("uid", OPT_UID),
	fsparam_u32("gid", OPT_GID),
	fsparam_u32oct("mode", OPT_MODE),
	fsparam_string("src", OPT_SRC),
	{}
};

/* "64K", "8G" */
static int dimmap_parse_bytes(struct fs_context *fc, const char *name, const char *text, u64 *bytes)
{
	char *end;

	*bytes = memparse(text, &end);
	if (end == text || *end)
		return invalfc(fc, "%s=%s: a number of bytes is expected, with K, M, G or T", name,
			       text);
	return 0;
}

static int dimmap_parse_nodes(struct fs_context *fc, const char *text, nodemask_t *nodes)
{
	nodemask_t has;

	if (nodelist_parse(text, *nodes) || nodes_empty(*nodes))
		return invalfc(fc, "nodes=%s: expected a list of memory nodes, such as 0,2-3",
			       text);
	nodes_and(has, *nodes, node_states[N_MEMORY]);
	if (!nodes_equal(has, *nodes))
		return invalfc(fc, "nodes=%s: nodes with memory are %*pbl", text,
			       nodemask_pr_args(&node_states[N_MEMORY]));
	return 0;
}

static int dimmap_parse_policy(struct fs_context *fc, const char *name,
			       const struct dimmap_policy **policy)
{
	u32 i;

	*policy = dimmap_policy_find(name);
	if (*policy)
		return 0;
	errorfc(fc, "policy=%s: policies are", name);
	for (i = 0; dimmap_policies[i]; i++)
		errorfc(fc, "    %s", dimmap_policies[i]->name);
	return -EINVAL;
}

static int dimmap_parse(struct fs_context *fc, struct fs_parameter *param)
{
	struct dimmap_options *opt = fc->fs_private;
	struct fs_parse_result result;
	u64 bytes;
	int which;

	which = fs_parse(fc, dimmap_parameters, param, &result);
	if (which < 0)
		return which;
	switch (which) {
	case OPT_SIZE:
		return dimmap_parse_bytes(fc, "size", param->string, &opt->size);
	case OPT_NODES:
		return dimmap_parse_nodes(fc, param->string, &opt->nodes);
	case OPT_PLACE:
		opt->local = result.uint_32;
		return 0;
	case OPT_POLICY:
		return dimmap_parse_policy(fc, param->string, &opt->policy);
	case OPT_BATCH:
		opt->batch = result.uint_32;
		if (!opt->batch || opt->batch > DIMMAP_MAX_BATCH)
			return invalfc(fc, "batch=%u: 1 to %d pages", opt->batch, DIMMAP_MAX_BATCH);
		return 0;
	case OPT_FILL:
		if (dimmap_parse_bytes(fc, "fill", param->string, &bytes))
			return -EINVAL;
		if (bytes < PAGE_SIZE || bytes > DIMMAP_WINDOW * PAGE_SIZE || bytes & (bytes - 1))
			return invalfc(fc, "fill=%s: a power of two from %luK to %luK",
				       param->string, PAGE_SIZE >> 10,
				       DIMMAP_WINDOW * PAGE_SIZE >> 10);
		opt->fill = bytes >> PAGE_SHIFT;
		return 0;
	case OPT_POOLS:
		opt->pools = result.uint_32;
		return 0;
	case OPT_DIRTY_BG:
	case OPT_DIRTY_MAX:
		if (result.uint_32 > 100)
			return invalfc(fc, "%s=%u: percents of the buffer", param->key,
				       result.uint_32);
		*(which == OPT_DIRTY_BG ? &opt->dirty_bg : &opt->dirty_max) = result.uint_32;
		return 0;
	case OPT_TLB:
		opt->tlb = result.uint_32;
		return 0;
	case OPT_UID:
		opt->uid = make_kuid(current_user_ns(), result.uint_32);
		if (!uid_valid(opt->uid))
			return invalfc(fc, "uid=%u: no such user here", result.uint_32);
		return 0;
	case OPT_GID:
		opt->gid = make_kgid(current_user_ns(), result.uint_32);
		if (!gid_valid(opt->gid))
			return invalfc(fc, "gid=%u: no such group here", result.uint_32);
		return 0;
	case OPT_MODE:
		if (result.uint_32 & ~0777)
			return invalfc(fc, "mode=%o: permissions only", result.uint_32);
		opt->mode = result.uint_32;
		return 0;
	case OPT_SRC:
		kfree(opt->src);
		opt->src = param->string;
		param->string = NULL;
		return 0;
	}
	return -EINVAL;
}

static int dimmap_show_options(struct seq_file *seq, struct dentry *root)
{
	const struct dimmap_options *opt = &dimmap_buffer_of(root->d_sb)->opt;

	seq_printf(seq, ",size=%lluK,nodes=%*pbl,place=%s,policy=%s,batch=%u,fill=%luK",
		   opt->size >> 10, nodemask_pr_args(&opt->nodes), dimmap_places[opt->local].name,
		   opt->policy->name, opt->batch, opt->fill * PAGE_SIZE >> 10);
	seq_printf(seq, ",pools=%u,dirty_bg=%u,dirty_max=%u,tlb=%s,uid=%u,gid=%u,mode=%o",
		   dimmap_buffer_of(root->d_sb)->pools, opt->dirty_bg, opt->dirty_max,
		   dimmap_tlbs[opt->tlb].name, from_kuid_munged(&init_user_ns, opt->uid),
		   from_kgid_munged(&init_user_ns, opt->gid), opt->mode);
	if (opt->src)
		seq_show_option(seq, "src", opt->src);
	return 0;
}

/* ---- files ---- */

static int dimmap_open(struct inode *inode, struct file *file)
{
	if (dimmap_file_of(inode)->read_only && file->f_mode & FMODE_WRITE)
		return -EROFS;
	return 0;
}

static int dimmap_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct dimmap_file *own = dimmap_file_of(file_inode(file));
	int rc = dimmap_sync(own, start, end, DIMMAP_FOREVER);
	int error = file_check_and_advance_wb_err(file);

	if (READ_ONCE(own->shut))
		return -EIO;
	return error ?: rc;
}

static const struct file_operations dimmap_file_operations = {
	.owner = THIS_MODULE,
	.open = dimmap_open,
	.llseek = generic_file_llseek,
	.read_iter = dimmap_read_iter,
	.write_iter = dimmap_write_iter,
	.mmap = dimmap_mmap,
	.fsync = dimmap_fsync,
};

static const struct file_operations dimmap_stats_operations = {
	.owner = THIS_MODULE,
	.open = dimmap_stats_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

/* Refuses to change the size of a file, which is that of its source. */
static int dimmap_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attr)
{
	if (attr->ia_valid & ATTR_SIZE) {
		/* ignore size 0, which open(O_TRUNC) sets: on a device it has no effect either */
		if (attr->ia_size && attr->ia_size != i_size_read(d_inode(dentry)))
			return -EPERM;
		attr->ia_valid &= ~ATTR_SIZE;
	}
	return simple_setattr(idmap, dentry, attr);
}

static const struct inode_operations dimmap_inode_operations = {
	.setattr = dimmap_setattr,
};

static struct inode *dimmap_inode(struct super_block *sb, umode_t mode)
{
	const struct dimmap_options *opt = &dimmap_buffer_of(sb)->opt;
	struct inode *inode = new_inode(sb);

	if (!inode)
		return NULL;
	inode->i_ino = get_next_ino();
	inode->i_mode = mode;
	inode->i_uid = opt->uid;
	inode->i_gid = opt->gid;
	simple_inode_init_ts(inode);
	return inode;
}

/* Adds a name to the mount's directory, which is locked. Takes the reference to the inode. */
static int dimmap_add(struct dentry *root, const char *name, struct inode *inode)
{
	struct dentry *dentry = d_alloc_name(root, name);

	if (!dentry) {
		iput(inode);
		return -ENOMEM;
	}
	/* this reference keeps the dentry until unlink or the end of the mount */
	d_add(dentry, inode);
	return 0;
}

/* Waits until the source of a file is released, but not after UNTIL (in jiffies). */
static int dimmap_unbound_one(struct dimmap_file *file, unsigned long until)
{
	long left = until - jiffies;

	wait_for_completion_timeout(&file->gone, max(left, 1l));
	return 0;
}

static int dimmap_bind(struct dentry *root, const char *name, struct file *backing, bool read_only,
		       char *why, size_t size)
{
	struct super_block *sb = root->d_sb;
	struct dimmap_file *file;
	struct dentry *old;
	struct inode *inode;
	bool added;
	int rc = 0;

	/* refuse files of dimmapfs: the read of a page could wait for the page itself */
	if (file_inode(backing)->i_sb->s_magic == DIMMAP_MAGIC) {
		snprintf(why, size, "it is a file of dimmapfs");
		return -EINVAL;
	}
	file = dimmap_file_bind(dimmap_buffer_of(sb), backing, read_only, why, size);
	if (IS_ERR(file))
		return PTR_ERR(file);
	snprintf(why, size, "no memory");
	inode_lock(d_inode(root));
	old = lookup_one_len(name, root, strlen(name));
	if (IS_ERR(old)) {
		rc = PTR_ERR(old);
		snprintf(why, size, "the name is not possible (%pe)", old);
	} else {
		if (d_really_is_positive(old)) {
			rc = -EEXIST;
			snprintf(why, size, "the name is in use");
		}
		dput(old);
	}
	inode = rc ? NULL : dimmap_inode(sb, S_IFREG | (dimmap_buffer_of(sb)->opt.mode & 0666));
	added = inode;
	if (added) {
		inode->i_op = &dimmap_inode_operations;
		inode->i_fop = &dimmap_file_operations;
		inode->i_size = file->size;
		/* tools believe that a file without blocks is a hole */
		inode->i_blocks = DIV_ROUND_UP_ULL(file->size, 512);
		inode->i_private = file;
		file->inode = inode;
		rc = dimmap_add(root, name, inode);
	} else {
		rc = rc ?: -ENOMEM;
	}
	inode_unlock(d_inode(root));
	if (!added) {
		dimmap_file_shut(file);
		dimmap_unbound_one(file, jiffies + 5 * HZ);
		dimmap_file_put(file);
	}
	return rc;
}

/* ---- ioctls of the directory ---- */

static int dimmap_ioctl_bind(struct file *dir, struct dimmap_bind __user *arg)
{
	struct dimmap_bind bind;
	struct file *backing;
	int rc;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (copy_from_user(&bind, arg, sizeof(bind)))
		return -EFAULT;
	bind.name[DIMMAP_NAME_MAX] = '\0';
	if (bind.flags & ~DIMMAP_BIND_READ_ONLY || !bind.name[0] || bind.name[0] == '.' ||
	    strchr(bind.name, '/'))
		return -EINVAL;
	backing = fget(bind.fd);
	if (!backing)
		return -EBADF;
	memset(bind.why, 0, sizeof(bind.why));
	rc = dimmap_bind(file_dentry(dir), bind.name, backing, bind.flags & DIMMAP_BIND_READ_ONLY,
			 bind.why, sizeof(bind.why));
	fput(backing);
	if (rc && copy_to_user(arg->why, bind.why, sizeof(bind.why)))
		return -EFAULT;
	return rc;
}

/*
 * Calls ONE with ARG for each bound file, and holds a reference meanwhile. Returns the first error.
 */
static int dimmap_each_file(struct dimmap_buffer *buffer,
			    int (*one)(struct dimmap_file *file, unsigned long arg),
			    unsigned long arg)
{
	int rc = 0, this;
	u32 i;

	for (i = 0; i < DIMMAP_MAX_FILES; i++) {
		struct dimmap_file *file;

		mutex_lock(&buffer->files_lock);
		file = buffer->file[i];
		if (file && !refcount_inc_not_zero(&file->users))
			file = NULL;
		mutex_unlock(&buffer->files_lock);
		if (!file)
			continue;
		this = one(file, arg);
		rc = rc ?: this;
		dimmap_file_put(file);
	}
	return rc;
}

static int dimmap_sync_one(struct dimmap_file *file, unsigned long patience)
{
	return READ_ONCE(file->shut) ? 0 : dimmap_sync(file, 0, file->size, patience);
}

/* Writes all dirty pages. An error of any other write during the call is returned, too. */
static int dimmap_sync_all(struct super_block *sb, unsigned long patience)
{
	errseq_t since = errseq_sample(&sb->s_wb_err);
	int rc = dimmap_each_file(dimmap_buffer_of(sb), dimmap_sync_one, patience);

	return rc ?: errseq_check(&sb->s_wb_err, since);
}

static int dimmap_shut_one(struct dimmap_file *file, unsigned long arg)
{
	dimmap_file_shut(file);
	return 0;
}

static void dimmap_shut_all(struct dimmap_buffer *buffer)
{
	mutex_lock(&buffer->files_lock);
	buffer->shut = true;
	dimmap_buffer_give_back(buffer);
	mutex_unlock(&buffer->files_lock);
	dimmap_each_file(buffer, dimmap_shut_one, 0);
	dimmap_each_file(buffer, dimmap_unbound_one, jiffies + 5 * HZ);
}

static long dimmap_ioctl(struct file *dir, unsigned int what, unsigned long arg)
{
	struct dimmap_buffer *buffer = dimmap_buffer_of(file_inode(dir)->i_sb);
	u32 ms;

	switch (what) {
	case DIMMAP_IOC_BIND:
		return dimmap_ioctl_bind(dir, (void __user *)arg);
	case DIMMAP_IOC_SYNC:
		if (get_user(ms, (u32 __user *)arg))
			return -EFAULT;
		return dimmap_sync_all(file_inode(dir)->i_sb, msecs_to_jiffies(ms));
	case DIMMAP_IOC_SHUTDOWN:
		if (!capable(CAP_SYS_ADMIN))
			return -EPERM;
		dimmap_shut_all(buffer);
		return 0;
	}
	return -ENOTTY;
}

/* the same as simple_dir_operations, with an ioctl */
static const struct file_operations dimmap_dir_operations = {
	.owner = THIS_MODULE,
	.open = dcache_dir_open,
	.release = dcache_dir_close,
	.llseek = dcache_dir_lseek,
	.read = generic_read_dir,
	.iterate_shared = dcache_readdir,
	.fsync = noop_fsync,
	.unlocked_ioctl = dimmap_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static const struct inode_operations dimmap_dir_inode_operations = {
	.lookup = simple_lookup,
	.unlink = simple_unlink,
};

/* ---- the mount ---- */

static void dimmap_evict_inode(struct inode *inode)
{
	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	if (inode->i_fop == &dimmap_file_operations && inode->i_private)
		dimmap_file_leave(inode->i_private);
}

static int dimmap_statfs(struct dentry *dentry, struct kstatfs *st)
{
	struct dimmap_buffer *buffer = dimmap_buffer_of(dentry->d_sb);

	simple_statfs(dentry, st);
	st->f_blocks = buffer->pages;
	return 0;
}

/*
 * The kernel calls this for umount -f, also at the system's shutdown. Writes what can still be
 * written, and shuts all files.
 */
static void dimmap_umount_begin(struct super_block *sb)
{
	dimmap_sync_all(sb, 5 * HZ);
	dimmap_shut_all(dimmap_buffer_of(sb));
}

static int dimmap_sync_fs(struct super_block *sb, int wait)
{
	return wait ? dimmap_sync_all(sb, DIMMAP_FOREVER) : 0;
}

static const struct super_operations dimmap_super_operations = {
	.statfs = dimmap_statfs,
	.drop_inode = generic_delete_inode,
	.evict_inode = dimmap_evict_inode,
	.show_options = dimmap_show_options,
	.umount_begin = dimmap_umount_begin,
	.sync_fs = dimmap_sync_fs,
};

/* Binds the source of src=, opened with the rights of the mounting task. */
static int dimmap_bind_src(struct dentry *root, const char *src, char *why, size_t size)
{
	struct file *backing = filp_open(src, O_RDWR | O_LARGEFILE, 0);
	int rc;

	if (IS_ERR(backing) && (PTR_ERR(backing) == -EROFS || PTR_ERR(backing) == -EACCES))
		backing = filp_open(src, O_RDONLY | O_LARGEFILE, 0);
	if (IS_ERR(backing)) {
		snprintf(why, size, "it cannot be opened (%pe)", backing);
		return PTR_ERR(backing);
	}
	rc = dimmap_bind(root, "data", backing, false, why, size);
	fput(backing);
	return rc;
}

static int dimmap_fill_super(struct super_block *sb, struct fs_context *fc)
{
	struct dimmap_options *opt = fc->fs_private;
	struct dimmap_buffer *buffer;
	char why[DIMMAP_WHY_MAX];
	struct inode *inode;
	int rc;

	if (opt->size < 8 * PAGE_SIZE || opt->size >> PAGE_SHIFT > 1ull << 31)
		return invalfc(fc, "size=%lluK: %luK to 8T is needed",
			       opt->size >> 10, 8 * PAGE_SIZE >> 10);
	if (opt->dirty_bg > opt->dirty_max)
		return invalfc(fc, "dirty_bg=%u is more than dirty_max=%u", opt->dirty_bg,
			       opt->dirty_max);
	sb->s_magic = DIMMAP_MAGIC;
	sb->s_op = &dimmap_super_operations;
	sb->s_maxbytes = MAX_LFS_FILESIZE;
	sb->s_blocksize = PAGE_SIZE;
	sb->s_blocksize_bits = PAGE_SHIFT;
	sb->s_time_gran = 1;
	buffer = dimmap_buffer_new(opt, sb, why, sizeof(why));
	if (IS_ERR(buffer)) {
		errorfc(fc, "%s", why);
		return PTR_ERR(buffer);
	}
	sb->s_fs_info = buffer;
	opt->src = NULL;
	rc = dimmap_stats_add(buffer);
	if (rc)
		return rc;
	inode = dimmap_inode(sb, S_IFDIR | opt->mode);
	if (!inode)
		return -ENOMEM;
	inode->i_op = &dimmap_dir_inode_operations;
	inode->i_fop = &dimmap_dir_operations;
	sb->s_root = d_make_root(inode);
	if (!sb->s_root)
		return -ENOMEM;
	inode = dimmap_inode(sb, S_IFREG | (opt->mode & 0444));
	if (!inode)
		return -ENOMEM;
	inode->i_op = &dimmap_inode_operations;
	inode->i_fop = &dimmap_stats_operations;
	rc = dimmap_add(sb->s_root, ".stats", inode);
	if (!rc && buffer->opt.src) {
		rc = dimmap_bind_src(sb->s_root, buffer->opt.src, why, sizeof(why));
		if (rc)
			errorfc(fc, "src=%s: %s", buffer->opt.src, why);
	}
	return rc;
}

static int dimmap_get_tree(struct fs_context *fc)
{
	return get_tree_nodev(fc, dimmap_fill_super);
}

static void dimmap_free_fc(struct fs_context *fc)
{
	struct dimmap_options *opt = fc->fs_private;

	kfree(opt->src);
	kfree(opt);
}

static const struct fs_context_operations dimmap_context_operations = {
	.parse_param = dimmap_parse,
	.get_tree = dimmap_get_tree,
	.free = dimmap_free_fc,
};

static int dimmap_init_fs_context(struct fs_context *fc)
{
	struct dimmap_options *opt = kzalloc(sizeof(*opt), GFP_KERNEL);

	if (!opt)
		return -ENOMEM;
	opt->nodes = node_states[N_MEMORY];
	opt->policy = dimmap_policies[0];
	opt->batch = 64;
	opt->fill = 1;
	opt->dirty_bg = 10;
	opt->dirty_max = 60;
	opt->uid = current_fsuid();
	opt->gid = current_fsgid();
	opt->mode = 0700;
	fc->fs_private = opt;
	fc->ops = &dimmap_context_operations;
	return 0;
}

static void dimmap_kill_sb(struct super_block *sb)
{
	struct dimmap_buffer *buffer = dimmap_buffer_of(sb);
	struct dimmap_end *end;

	/*
	 * remove the directory first: its name is the device number, which the next mount may get
	 */
	if (buffer)
		dimmap_stats_remove(buffer);
	kill_litter_super(sb);
	if (!buffer)
		return;
	end = buffer->end;
	refcount_inc(&end->users);
	dimmap_buffer_put(buffer);
	/* wait, so that sources are free when this function returns, unless a device is slow */
	wait_for_completion_timeout(&end->done, 5 * HZ);
	dimmap_end_put(end);
}

struct file_system_type dimmap_fs_type = {
	.owner = THIS_MODULE,
	.name = "dimmapfs",
	.init_fs_context = dimmap_init_fs_context,
	.parameters = dimmap_parameters,
	.kill_sb = dimmap_kill_sb,
};
MODULE_ALIAS_FS("dimmapfs");
