package example.metro;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** 地铁车站：保存线路、换乘关系和票价。 */
public final class Station {
    private static final int 起步价 = 3; // 单位：元
    private static final int 每站加价 = 1;

    private final String name;
    private final List<Station> neighbours = new ArrayList<>();
    private final Map<String, Integer> platforms = new HashMap<>();

    public Station(String name) {
        if (name == null || name.isBlank()) {
            throw new IllegalArgumentException("车站名称不能为空。");
        }
        this.name = name;
    }

    public String name() {
        return name;
    }

    // 连接两个相邻的车站，方向是双向的。
    public void connect(Station other, String line, int platform) {
        if (other == this) {
            throw new IllegalArgumentException("车站不能与自己相连：" + name);
        }
        neighbours.add(other);
        other.neighbours.add(this);
        platforms.put(line, platform);
    }

    // 用广度优先搜索计算两站之间的最少站数。
    public int distanceTo(Station goal) {
        Map<Station, Integer> seen = new HashMap<>();
        List<Station> queue = new ArrayList<>();
        seen.put(this, 0);
        queue.add(this);
        for (int i = 0; i < queue.size(); i++) {
            Station here = queue.get(i);
            if (here == goal) {
                return seen.get(here);
            }
            for (Station next : here.neighbours) {
                if (!seen.containsKey(next)) {
                    seen.put(next, seen.get(here) + 1);
                    queue.add(next);
                }
            }
        }
        return -1; // 无法到达
    }

    // 票价按照经过的站数计算，学生半价。
    public int fare(Station goal, boolean student) {
        int stops = distanceTo(goal);
        if (stops < 0) {
            throw new IllegalStateException("从" + name + "无法到达" + goal.name + "。");
        }
        int price = 起步价 + Math.max(0, stops - 3) * 每站加价;
        if (student) {
            price = (price + 1) / 2;
        }
        return price;
    }

    // 查询某条线路的站台号，没有则返回零。
    public int platform(String line) {
        Integer number = platforms.get(line);
        if (number == null) {
            System.err.println("找不到线路：" + line + "，请检查名称。");
            return 0;
        }
        return number;
    }

    @Override
    public String toString() {
        return "车站「" + name + "」，相邻 " + neighbours.size() + " 站";
    }
}
