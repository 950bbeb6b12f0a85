// 小さな店の在庫と売上を管理するモジュール。

export interface 商品 {
  code: string;
  name: string;
  price: number; // 税抜き、円
  stock: number;
}

export interface Sale {
  code: string;
  count: number;
  at: Date;
}

const 税率 = 0.1;
const 警告の数 = 5;

export class Shop {
  private items = new Map<string, 商品>();
  private sales: Sale[] = [];

  // 新しい商品を棚に加える。同じ番号の商品があればエラーにする。
  register(item: 商品): void {
    if (this.items.has(item.code)) {
      throw new Error(`商品番号「${item.code}」はすでに登録されています。`);
    }
    if (item.price < 0 || item.stock < 0) {
      throw new Error('価格と在庫は０以上でなければなりません。');
    }
    this.items.set(item.code, { ...item });
  }

  // 売れた分だけ在庫を減らす。
  sell(code: string, count: number, at: Date): number {
    const item = this.items.get(code);
    if (item === undefined) {
      throw new Error('その商品はありません: ' + code);
    }
    if (count > item.stock) {
      throw new Error(`在庫が足りません（残り ${item.stock} 個）。`);
    }
    item.stock -= count;
    this.sales.push({ code, count, at });
    if (item.stock <= 警告の数) {
      console.warn(`「${item.name}」の在庫が少なくなっています。`);
    }
    return this.total(item, count);
  }

  // 入荷した商品を棚に戻す。
  restock(code: string, count: number): void {
    const item = this.items.get(code);
    if (item === undefined) {
      return;
    }
    item.stock += count;
  }

  // 一日の売上を、商品ごとにまとめる。
  daily(day: Date): Map<string, number> {
    const result = new Map<string, number>();
    for (const sale of this.sales) {
      if (sale.at.toDateString() !== day.toDateString()) {
        continue;
      }
      const before = result.get(sale.code) ?? 0;
      result.set(sale.code, before + sale.count);
    }
    return result;
  }

  // よく売れる順に並べる。
  popular(limit: number): 商品[] {
    const counts = new Map<string, number>();
    for (const sale of this.sales) {
      counts.set(sale.code, (counts.get(sale.code) ?? 0) + sale.count);
    }
    return [...this.items.values()]
      .sort((a, b) => (counts.get(b.code) ?? 0) - (counts.get(a.code) ?? 0))
      .slice(0, limit);
  }

  private total(item: 商品, count: number): number {
    // 端数は切り捨て。
    return Math.floor(item.price * count * (1 + 税率));
  }
}
